"""Shows TEMPI on this machine: packing by an MPI program that knows nothing of it, and a 3-D halo exchange.

On GPU buffers if there is a GPU, else on host buffers. Exit code 1 when bytes differ. From the folder above:
python -m examples.demo
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from examples.demo_halo import measured_halo, show_halo
from examples.demo_machine import show_machine
from examples.demo_pack import measured_packs, show_messages, show_packs
from examples.demo_picture import draw
from tempi.cuda.gpus import gpus

PICTURE = Path("tempi-demo.png")


def main() -> int:
    """Run the demo."""
    console = Console(highlight=False)
    where = "gpu" if gpus() else "host"
    show_machine(console, where)
    try:
        packs = measured_packs(console, where)
        show_packs(console, packs, where)
        if where == "gpu":
            show_messages(console, packs)
        halo = measured_halo(console)
    except RuntimeError as error:
        console.print(f"[red]{error}[/red]")
        return 1
    show_halo(console, halo)
    draw(console, packs, halo, PICTURE)
    console.print(
        "\n[bold]Next[/bold], your own program: tempi run -o report -- mpirun -n 2 ./program    "
        f"[dim](tempi is {Path(sys.executable).with_name('tempi')})[/dim]",
        soft_wrap=True,
    )
    return 0 if all(pack.is_right for pack in packs) and halo.is_right else 1


if __name__ == "__main__":
    sys.exit(main())
