"""A rank of ``bench.placement``: a periodic 3-D halo exchange, its ranks in one of several orders."""

from __future__ import annotations

import json
import socket
import statistics
import time

import click
import numpy as np
from mpi4py import MPI

import tempi  # before mpi4py.MPI
from tempi.halo.process_grid import ProcessGrid, directions

BYTES = 8
MOST_EXCHANGES = 10_000


def cells_to(grid: ProcessGrid, rank: int, size: tuple[int, ...], width: int) -> dict[int, int]:
    """Cells that a rank sends to each other one."""
    found: dict[int, int] = {}
    for direction in directions(grid.n_dims):
        other = grid.neighbour(rank, direction)
        assert other is not None
        n = int(np.prod([width if step else cells for step, cells in zip(direction, size, strict=True)]))
        found[other] = found.get(other, 0) + n
    return found


def communicator(how: str, grid: ProcessGrid, size: tuple[int, ...], width: int) -> MPI.Intracomm:
    """All ranks: as they were launched, or as vertices of the exchange's graph or of its grid."""
    world = MPI.COMM_WORLD
    if how == "launched":
        return world.Dup()
    if how == "grid":
        return world.Create_cart(grid.dims, grid.periods, reorder=True)
    cells = cells_to(grid, world.rank, size, width)
    weights = [n * BYTES for n in cells.values()]
    return world.Create_dist_graph_adjacent(list(cells), list(cells), weights, weights, reorder=True)


def between_hosts(comm: MPI.Intracomm, grid: ProcessGrid, size: tuple[int, ...], width: int) -> int:
    """Bytes of an exchange that go from one host to another."""
    hosts = comm.allgather(socket.gethostname())
    cells = cells_to(grid, comm.rank, size, width)
    mine = sum(n for other, n in cells.items() if hosts[other] != hosts[comm.rank])
    return int(comm.allreduce(mine)) * BYTES


def times(comm: MPI.Intracomm, exchange: tempi.HaloExchange, seconds: float) -> list[float]:
    """Seconds of each exchange, of the slowest rank."""
    found: list[float] = []
    end = time.perf_counter() + seconds
    while comm.bcast(time.perf_counter() < end and len(found) < MOST_EXCHANGES):
        comm.Barrier()
        begin = time.perf_counter()
        exchange()
        found.append(comm.allreduce(time.perf_counter() - begin, MPI.MAX))
    return found


@click.command()
@click.option("--how", type=click.Choice(["launched", "graph", "grid"]), required=True)
@click.option("--size", type=int, nargs=3, required=True)
@click.option("--width", type=int, required=True)
@click.option("--seconds", type=float, required=True)
def main(how: str, size: tuple[int, ...], width: int, seconds: float) -> None:
    """One setting; rank 0 prints the result."""
    dims = tuple(MPI.Compute_dims(MPI.COMM_WORLD.size, 3))
    grid = ProcessGrid(dims, (True,) * 3)
    comm = communicator(how, grid, size, width)
    array = np.full([n + 2 * width for n in size], float(comm.rank))
    with tempi.HaloExchange(comm, array, width, periods=True, dims=dims) as exchange:
        exchange()
        assert array[0, width, width] == grid.neighbour(comm.rank, (-1, 0, 0))
        found = times(comm, exchange, seconds)
    n_bytes = between_hosts(comm, grid, size, width)
    if comm.rank == 0:
        row = {"bytes": n_bytes, "us": statistics.median(found) * 1e6, "n": len(found)}
        print(json.dumps({"dims": "x".join(map(str, dims)), **row}), flush=True)


if __name__ == "__main__":
    main()
