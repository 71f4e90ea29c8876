"""``tempi bench NAME``: the benchmarks, which live in the source tree and are not installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

BENCHMARKS = {
    "halo": (
        "halo3d",
        "3-D halo exchanges: TEMPI, the library alone, code by hand.",
    ),
    "solver": ("solver", "Conjugate gradients: TEMPI, the library alone, NCCL."),
    "pack": ("pack", "MPI_Pack, MPI_Unpack: TEMPI, the library, specialised code."),
    "send": ("send", "Messages of vectors: TEMPI and the MPI library alone."),
    "host-messages": ("host_messages", "Messages in host memory: TEMPI and the MPI library alone."),
    "transpose": ("transpose", "Transposes of a distributed array by MPI_Alltoallw."),
    "exchange": ("exchange", "Exchanges between GPUs as in FFT libraries."),
    "sequence": ("sequence", "A message between GPUs, alone and after other messages."),
    "enqueue": ("enqueue", "Exchanges that are queued in CUDA streams and graphs."),
    "queued": ("queued", "MPI_Pack and MPI_Unpack that are queued in a CUDA stream."),
    "partitioned": ("partitioned", "Partitioned messages, whose partitions kernels write."),
    "files": ("files", "Files: GPU memory and pinned host memory."),
    "collectives": ("collectives", "Reductions and broadcasts in GPU memory: TEMPI and NCCL."),
    "reduction": ("reduction", "MPI_Reduce_local in GPU memory."),
    "progress": ("progress", "The delay of sends while kernels of the program run."),
    "commit": ("commit", "The time of MPI_Type_commit and of preloading."),
    "view": ("view", "The time of tempi.view."),
    "predict": ("predict", "The time to choose a strategy."),
    "simulate": ("simulate", "The errors and the run time of tempi simulate."),
    "placement": ("placement", "Halo exchanges on several hosts with TEMPI_PLACEMENT."),
    "choice": ("choice", "How often the predicted strategy is the fastest."),
}


@click.group("bench")
def main() -> None:
    """Run a benchmark. Start it in the folder of the sources.

    Example: tempi bench halo --help
    """


def _run(name: str, arguments: tuple[str, ...]) -> None:
    """Replace this process by ``python -m bench.<module>``."""
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
