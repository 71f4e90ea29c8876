"""Drawn collective calls that move data: which call, on which communicator, of which data."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from mpi4py import MPI

from support.collective_calls import LIFETIMES, name_of
from support.defects import copies_wrongly, library_name, mixes_blocks_in_place
from support.messages import LEAVES
from support.p2p import FORMS, Form, has

ROOTED = ("Bcast", "Gather", "Gatherv", "Scatter", "Scatterv")
TO_ALL = ("Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw")
AMONG_NEIGHBORS = tuple(
    f"Neighbor_{name}" for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
)
OPERATIONS = (*ROOTED, *TO_ALL, *AMONG_NEIGHBORS)
UNIT = 12  # basic elements: a multiple of those of every datatype


@cache
def comms() -> dict[str, MPI.Comm]:
    world = MPI.COMM_WORLD.Dup()
    size, rank = world.Get_size(), world.Get_rank()
    half = world.Split(rank % 2)
    inter = half.Create_intercomm(0, world, 1 - rank % 2, 5) if size > 1 else None
    # A ring of two: libraries differ in the order of the blocks.
    grid = world.Create_cart([size], [False])
    ring = world.Create_cart([size], [True]) if size > 2 else grid
    graph = world.Create_dist_graph_adjacent([(rank - 1) % size, rank], [(rank + 1) % size, rank])
    return {"world": world, "inter": inter, "grid": grid, "ring": ring, "graph": graph}


@dataclass(frozen=True)
class Case:
    operation: str
    lifetime: str
    where: str
    form: Form
    leaf: str
    root: int
    in_place: bool
    n_leaves: tuple[tuple[int, ...], ...]  # from, to: basic elements
    seed: int
    rounds: int


def draw_case(seed: int, operations: tuple[str, ...] = OPERATIONS) -> Case:
    draw = random.Random(seed)
    size = MPI.COMM_WORLD.Get_size()
    operation = draw.choice(operations)
    among_neighbors = operation.startswith("Neighbor")
    where = draw.choice(("grid", "ring", "graph") if among_neighbors else ("world", "world", "inter"))
    if comms()[where] is None:
        where = "world"
    lifetime = draw.choice([one for one in LIFETIMES if has(name_of(operation, one))])
    if copies_wrongly(operation, lifetime, size):
        operation = "Alltoallv"
    n_blocks = max(4, size) + 1
    scale = draw.choice((1, 1, 10, 400))
    units = [[draw.choice((0, 1, 2, 3)) * scale for _ in range(n_blocks)] for _ in range(n_blocks)]
    if not operation.endswith(("v", "w")):
        units = [[units[0][0]] * n_blocks] * n_blocks
    return Case(
        operation,
        lifetime,
        where,
        draw.choice(FORMS),
        draw.choice(LEAVES),
        draw.randrange(size),
        where == "world" and draw.random() < 0.3 and not mixes_blocks_in_place(operation, lifetime),
        tuple(tuple(UNIT * n for n in row) for row in units),
        draw.getrandbits(30),
        3 if lifetime == "persistent" else 1,
    )


def wants_one_size(case: Case) -> bool:
    """Open MPI chooses how it carries a call out, and passes data on, by the sizes of this rank's datatypes alone."""
    return library_name() == "openmpi" and not case.operation.endswith("w")
