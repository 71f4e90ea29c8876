"""The begin of the demo: the machine that it has found, and what to expect there."""

from __future__ import annotations

import os
from importlib.util import find_spec

from rich.console import Console

from bench.common.tables import cpu_name
from tempi.cuda.gpus import gpus
from tempi.info import build_rows

BUSY = 0.3  # of each core's time
EXPECTED = {
    "gpu": "With a GPU: the MPI library copies block by block, or cannot read GPU memory at all. TEMPI packs "
    "with one kernel: expect 10 to 10,000 times the speed.",
    "host": "Without a GPU: TEMPI is made for GPU memory, and this shows the smaller part of it. In host "
    "memory expect 1.2 to 8 times the speed for small or scattered elements, the same for large blocks, "
    "and 1 to 3 times for HaloExchange. Messages of datatypes in host memory stay the MPI library's own.",
}


def show_machine(console: Console, where: str) -> None:
    """Print it."""
    found = gpus()
    cores = len(os.sched_getaffinity(0))
    names = _in_words([gpu.name for gpu in found])
    console.print(f"[bold]Machine[/bold]  {cpu_name()}, {cores} cores, {names}")
    build = build_rows()
    console.print(f"[bold]Library[/bold]  {build['MPI of this Python']}; TEMPI {build['version']}")
    console.print(f"[bold]Expect[/bold]   {EXPECTED[where]}")
    load = os.getloadavg()[0] / cores
    if load > BUSY:
        console.print(
            "[yellow]Other programs use this machine now. They make times longer. A row whose times differ too "
            'much between runs says "disturbed".[/yellow]'
        )
    if found and not find_spec("cupy"):
        console.print(
            "[yellow]CuPy is missing: the halo exchange is in host memory (pip install cupy-cuda13x)[/yellow]"
        )
    console.print()


def _in_words(names: list[str]) -> str:
    if not names:
        return "no GPU"
    return f"{len(names)} GPU{'s'[: len(names) > 1]}: {', '.join(sorted(set(names)))}"
