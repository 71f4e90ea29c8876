"""One rank of ``bench.solver``: runs the ways of a launch in turns, checks them and times them.

Rank 0 writes a line of JSON for each way at each size.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any

import click
import mpi4py

import tempi
from tempi._library import library
from tempi.run.environment import local_rank
from tempi.run.records import write

mpi4py.rc.initialize = False  # the GPU is chosen first: UCX looks for it when MPI is initialised

from mpi4py import MPI  # noqa: E402

from bench.common.ranks import run_rank  # noqa: E402
from bench.solver import ways  # noqa: E402
from bench.solver.faces import faces_of, indices, n_wrong, right_side, without_ghosts  # noqa: E402
from bench.solver.launches import WITH_SHIM  # noqa: E402
from bench.solver.loop import Alone, Block, HostBlock, Unavailable, Way, begin, iterate  # noqa: E402

LEAST_SAMPLES, MOST_SAMPLES = 3, 300
Maker = Callable[[MPI.Cartcomm, Any], Way]


def by_library(comm: MPI.Cartcomm, block: Any) -> Way:
    """Derived datatypes where the library takes the memory, else packed by hand through host memory."""
    if isinstance(block, HostBlock) or library().cuda_aware().startswith("yes"):
        return ways.DerivedTypes(comm, block)
    way: Way = import_module("bench.solver.gpu").Staged(comm, block)
    return way


def by_nccl(comm: MPI.Cartcomm, block: Any) -> Way:
    """NCCL's messages and reductions."""
    way: Way = import_module("bench.solver.nccl").HandNccl(comm, block)
    return way


WAYS: dict[str, Maker] = {
    "halo": ways.Halo,
    "types": ways.DerivedTypes,
    "library": by_library,
    "hand": ways.HandOnHost,
    "nccl": by_nccl,
}


def use_gpu(n_gpus: int) -> None:
    """The GPU of this rank."""
    device = import_module("cupy").cuda.Device(local_rank() % n_gpus)
    device.use()
    device.synchronize()  # creates the context: UCX looks for one when MPI is initialised


def wrong_cells(comm: MPI.Cartcomm, block: Block, way: Way) -> int:
    """Wrong cells of all ranks after an exchange of known data."""
    edge = len(block.p) - 2
    wanted = indices(comm, edge)
    block.put(block.p, without_ghosts(wanted))
    comm.Barrier()
    way.exchange()
    return int(comm.allreduce(n_wrong(block.get(block.p), wanted, faces_of(comm, edge))))


class Loop:
    """The iterations at one size, and the right-hand side that they begin with."""

    def __init__(self, comm: MPI.Cartcomm, block: Block, n: int) -> None:
        self.comm, self.block, self.n = comm, block, n
        self._b = right_side(comm, len(block.p) - 2)

    def seconds(self, way: Way) -> float:
        """Of an iteration, on this rank."""
        begin(self.block, way, self._b)
        self.comm.Barrier()
        start = perf_counter()
        iterate(self.block, way, self.n)
        self.block.wait()
        return (perf_counter() - start) / self.n

    def residual(self) -> float:
        """The square of the residual's norm after the iterations."""
        return float(self.block.get(self.block.rr[self.n % 2])[0])


def measure(loop: Loop, made: dict[str, Way], seconds: float) -> dict[str, list[float]]:
    """Seconds of an iteration of the slowest rank, by way. The ways take turns."""
    taken: dict[str, list[float]] = {name: [] for name in made}
    start = perf_counter()
    for number in range(1 + MOST_SAMPLES):
        for name, way in made.items():
            one = loop.comm.allreduce(loop.seconds(way), MPI.MAX)
            taken[name] += [one] if number > 0 else []  # the first one prepares things
        late = perf_counter() - start > seconds * len(made)
        if number >= LEAST_SAMPLES and loop.comm.bcast(late):
            break
    return taken


def make(comm: MPI.Cartcomm, block: Block, names: list[str]) -> tuple[dict[str, Way], dict[str, str]]:
    """The ways, and the reasons of those that are not possible."""
    made: dict[str, Way] = {"compute": Alone()}
    reasons = {}
    for name in names:
        try:
            made[name] = WAYS[name](comm, block)
        except Unavailable as reason:
            reasons[name] = str(reason)
    return made, reasons


def run_size(
    comm: MPI.Cartcomm, block: Block, names: list[str], n: int, seconds: float
) -> list[dict[str, Any]]:
    """A record for each way."""
    made, reasons = make(comm, block, names)
    loop = Loop(comm, block, n)
    wrong = {name: wrong_cells(comm, block, made[name]) for name in made if name != "compute"}
    residuals = {}
    for name in wrong:
        loop.seconds(made[name])
        residuals[name] = loop.residual()
    taken = measure(loop, made, seconds)
    records: list[dict[str, Any]] = [{"way": name, "why": why} for name, why in reasons.items()]
    for name in wrong:
        n_wrong_cells = wrong[name] + wrong_cells(comm, block, made[name])
        found = {"samples": taken[name], "compute": taken["compute"], "how": type(made[name]).__name__}
        records.append({"way": name, **found, "residual": residuals[name], "wrong": n_wrong_cells})
        made[name].free()
    return records


def run(names: list[str], edges: list[int], kind: str, n: int, seconds: float) -> None:
    """All sizes."""
    world = MPI.COMM_WORLD
    comm = world.Create_cart(MPI.Compute_dims(world.size, 3), periods=[True] * 3, reorder=False)
    if tempi.enabled() != (names[0] in WITH_SHIM):
        raise RuntimeError(f"{names[0]}: tempi.enabled() is {tempi.enabled()} in this process")
    mpi = MPI.Get_library_version().splitlines()[0].split(",")[0].strip("\0 ")
    for edge in edges:
        block: Block = HostBlock(edge) if kind == "host" else import_module("bench.solver.gpu").GpuBlock(edge)
        for record in run_size(comm, block, names, n, seconds):
            if comm.rank == 0:
                write({"mpi": mpi, "ranks": comm.size, "edge": edge, **record})


@click.command()
@click.option("--ways", "names", required=True, help="With commas between them.")
@click.option("--edges", required=True, help="Points along an axis, with commas between them.")
@click.option("--memory", "kind", type=click.Choice(["host", "gpu"]), required=True)
@click.option("--gpus", default=1, help="The ranks share so many.")
@click.option("--iterations", required=True, type=int, help="Of a sample.")
@click.option("--seconds", required=True, type=float, help="For the samples of one way.")
def main(names: str, edges: str, kind: str, gpus: int, iterations: int, seconds: float) -> None:
    if kind == "gpu":
        use_gpu(gpus)
    run_rank(
        lambda: run(names.split(","), [int(edge) for edge in edges.split(",")], kind, iterations, seconds)
    )


if __name__ == "__main__":
    main(prog_name="python -m bench.solver.rank")
