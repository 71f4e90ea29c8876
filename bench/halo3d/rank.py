"""One rank of ``bench.halo3d``: runs the ways of its tasks, checks the data and times them.

Rank 0 writes a line of JSON when a way begins and one with its result: a missing result shows a crash.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

import click
import mpi4py
import numpy as np

import tempi
from tempi._library import library
from tempi.run.environment import local_rank
from tempi.run.records import write

mpi4py.rc.initialize = False  # the GPU is chosen first: UCX looks for it when MPI is initialised

from mpi4py import MPI  # noqa: E402

from bench.common.ranks import run_rank  # noqa: E402
from bench.halo3d import ways  # noqa: E402
from bench.halo3d.c_calls import CTypes  # noqa: E402
from bench.halo3d.grid import Place, Size, process_grid  # noqa: E402
from bench.halo3d.jobs import WITH_SHIM  # noqa: E402
from bench.halo3d.setting import Setting, Unavailable, Way  # noqa: E402
from bench.halo3d.timer import measure  # noqa: E402

Task = dict[str, str]  # "way" and "size"


class Memory:
    """The memory of the data: the array module, and a wait for the work that it has begun."""

    def __init__(self, kind: str, n_gpus: int) -> None:
        self.xp = cast(Any, np)
        self.wait: Callable[[], None] = lambda: None
        if kind == "gpu":
            _gpu_ways().use_gpu(local_rank(), n_gpus)
            self.xp = import_module("cupy")
            self.wait = self.xp.cuda.Device().synchronize


def _gpu_ways() -> Any:
    return import_module("bench.halo3d.gpu")  # needs CuPy, unlike the ways on host memory


def by_hand(setting: Setting) -> Way:
    """The fused kernel with the messages that this MPI can send, or NumPy."""
    if setting.xp is np:
        return ways.HandOnHost(setting)
    is_cuda_aware = library().cuda_aware().startswith("yes")  # TEMPI_CUDA_AWARE has the last word
    way: Way = (_gpu_ways().HandDevice if is_cuda_aware else _gpu_ways().HandStaged)(setting)
    return way


def by_nccl(setting: Setting) -> Way:
    """The fused kernel with NCCL's messages."""
    way: Way = import_module("bench.halo3d.nccl").HandNccl(setting)
    return way


WAYS: dict[str, Callable[[Setting], Way]] = {
    "library": ways.DerivedTypes,
    "library-persistent": ways.PersistentTypes,
    "hand": by_hand,
    "hand-nccl": by_nccl,
    "shim-pack": ways.Packed,
    "shim-neighbor": ways.NeighborTypes,
    "shim-isend": ways.DerivedTypes,
    "shim-c-isend": lambda setting: CTypes(setting, is_persistent=False),
    "shim-c-persistent": lambda setting: CTypes(setting, is_persistent=True),
    "halo": ways.halo_exchange,
}


def make_way(name: str, setting: Setting) -> Way:
    """The way of that name, if the shim is present or absent as it needs."""
    if tempi.enabled() != (name in WITH_SHIM):
        presence = "is missing" if name in WITH_SHIM else "is in the way"
        raise RuntimeError(f"{name}: libtempi.so {presence} in this process: see `tempi info`")
    return WAYS[name](setting)


def run_task(comm: MPI.Cartcomm, task: Task, memory: Memory, seconds: float) -> dict[str, Any]:
    """One way at one size; the result, or the reason why it is not possible here."""
    size, place = Size.parse(task["size"]), Place(process_grid(comm.size), comm.rank)
    setting = Setting(comm, size, place, memory.xp, memory.xp.empty(size.shape))
    try:
        way = make_way(task["way"], setting)
    except Unavailable as reason:
        return {"why": str(reason)}
    samples, wrong = measure(setting, way, memory.wait, seconds)
    way.free()
    return {"samples": samples, "wrong": wrong, "how": type(way).__name__}


def report(record: dict[str, Any]) -> None:
    """A line for ``bench.halo3d``."""
    if MPI.COMM_WORLD.rank == 0:
        write(record)


def run_tasks(n_ranks: int, tasks: list[Task], memory: Memory, seconds: float) -> None:
    """All of them, on this rank."""
    if MPI.COMM_WORLD.size != n_ranks:
        raise RuntimeError(
            f"started as {n_ranks} ranks, but {MPI.Get_library_version().splitlines()[0]} knows of "
            f"{MPI.COMM_WORLD.size}: the launcher belongs to another MPI than this Python's mpi4py uses"
        )
    comm = MPI.COMM_WORLD.Create_cart(process_grid(MPI.COMM_WORLD.size), periods=[True] * 3, reorder=False)
    library_name = MPI.Get_library_version().splitlines()[0].split(",")[0].strip("\0 ")
    report({"mpi": library_name})
    for task in tasks:
        report({"begun": task})
        report({"task": task} | run_task(comm, task, memory, seconds))


@click.command()
@click.option("--tasks", required=True, help="JSON: a list of {way, size}.")
@click.option("--ranks", type=int, required=True, help="How many were started.")
@click.option("--memory", "kind", type=click.Choice(["host", "gpu"]), required=True)
@click.option("--gpus", type=int, default=0, help="Use the first so many of them; 0: all.")
@click.option("--seconds", type=float, required=True, help="For the samples of one way.")
@click.option("--thread-level", default="multiple", help="For MPI_Init_thread.")
def main(tasks: str, ranks: int, kind: str, gpus: int, seconds: float, thread_level: str) -> None:
    memory = Memory(kind, gpus)
    run_rank(lambda: run_tasks(ranks, json.loads(tasks), memory, seconds), thread_level)


if __name__ == "__main__":
    main(prog_name="python -m bench.halo3d.rank")
