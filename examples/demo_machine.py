"""The begin of the demo: the machine that it has found, and what to expect there."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from time import sleep

from rich.console import Console

from bench.common.tables import cpu_name
from tempi.cuda.gpus import gpus
from tempi.info import build_rows

BUSY, LOOK_S = 0.2, 0.5  # of the time of all cores; seconds
EXPECTED = {
    "gpu": "The MPI library copies GPU memory block by block, or cannot read it. TEMPI packs it with one "
    "kernel. Expect 10 to 10,000 times the speed.",
    "host": "There is no GPU here, and TEMPI is made for GPU memory. In host memory, expect 1.2 to 8 times "
    "the speed for small or scattered elements, the same speed for large blocks, and 1 to 3 times the speed "
    "for HaloExchange. The MPI library sends most messages in host memory itself.",
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
    if _busy_share() > BUSY:
        console.print("[yellow]Other programs use this machine now, and make times longer.[/yellow]")
    if found and not find_spec("cupy"):
        console.print(
            "[yellow]CuPy is missing: the halo exchange is in host memory (pip install cupy-cuda13x)[/yellow]"
        )
    console.print()


def _busy_share() -> float:
    """Not the load average, which has the build of a minute ago."""
    idle, total = _core_times()
    sleep(LOOK_S)
    idle_then, total_then = _core_times()
    return 1 - (idle_then - idle) / max(1, total_then - total)


def _core_times() -> tuple[int, int]:
    """Of all cores since the machine started: idle, and all."""
    times = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return times[3] + times[4], sum(times)


def _in_words(names: list[str]) -> str:
    if not names:
        return "no GPU"
    return f"{len(names)} GPU{'s'[: len(names) > 1]}: {', '.join(sorted(set(names)))}"
