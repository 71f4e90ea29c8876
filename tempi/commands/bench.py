"""``tempi bench NAME``: the benchmarks, which live in the source tree and are not installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

BENCHMARKS = {
    "halo": (
        "halo3d",
        "A 3-D halo exchange, against the MPI library alone and what an expert writes by hand.",
    ),
    "pack": ("pack", "MPI_Pack and MPI_Unpack, against the best specialised kernels or loops."),
    "send": ("send", "Messages of strided data, against the library and the parts of a message."),
    "host-messages": ("host_messages", "Messages of derived datatypes in host memory, against the library."),
    "transpose": ("transpose", "Transposes of a distributed array by MPI_Alltoallw."),
    "exchange": ("exchange", "Exchanges of packed pieces between GPUs, as FFT libraries make them."),
    "sequence": ("sequence", "Messages between GPUs behind others, against the same messages alone."),
    "collectives": ("collectives", "How fast reductions and broadcasts of GPU memory are, beside NCCL."),
    "reduction": ("reduction", "How fast MPI_Reduce_local is on GPU memory."),
    "progress": ("progress", "When sends of GPU memory leave, and whether kernels run beside them."),
    "commit": ("commit", "The cost of a commit and of a preload."),
    "view": ("view", "The cost of tempi.view to a call."),
    "predict": ("predict", "The cost of choosing a strategy to a message."),
    "simulate": ("simulate", "How right and how fast tempi simulate is."),
    "placement": ("placement", "A halo exchange on several hosts, with TEMPI_PLACEMENT and without."),
    "choice": ("choice", "How often the predicted strategy is the fastest one."),
}


@click.group("bench")
def main() -> None:
    """Run a benchmark of the source tree, in its folder: tempi bench halo --help"""


def _run(name: str, arguments: tuple[str, ...]) -> None:
    """Become ``python -m bench.<module>``."""
    module = BENCHMARKS[name][0]
    if not any(Path("bench", name).is_file() for name in (f"{module}.py", f"{module}/__main__.py")):
        raise click.ClickException(
            f"no bench/{module} in {Path.cwd()}: benchmarks are run in the folder of TEMPI's sources"
        )
    os.execv(sys.executable, [sys.executable, "-m", f"bench.{module}", *arguments])


def _add(name: str, summary: str) -> None:
    # All options, --help too, are the benchmark's.
    context = {"ignore_unknown_options": True, "help_option_names": []}

    @main.command(name, help=summary, context_settings=context, add_help_option=False)
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def run(arguments: tuple[str, ...]) -> None:
        _run(name, arguments)


for _name, (_, _summary) in BENCHMARKS.items():
    _add(_name, _summary)
