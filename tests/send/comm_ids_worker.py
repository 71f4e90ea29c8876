"""The ranks of test_comm_ids.py: random trees of communicators, grown by the same draws on all ranks."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from support.calls import handle
from support.outcomes import in_the_way
from support.p2p import has
from tempi._library import library

Made = MPI.Comm | None  # none: this rank did not take part


class Found(NamedTuple):
    """A communicator as one of its members sees it.

    Attributes
    ----------
    creation : str
        Of the communicator and its siblings.
    members : tuple of int
        Ranks in MPI_COMM_WORLD, in their order.
    comm_id : int
    has_id : bool
        By the rules.
    """

    creation: str
    members: tuple[int, ...]
    comm_id: int
    has_id: bool


class Grown(NamedTuple):
    found: list[Found]
    n_null: int  # creations that left this rank out
    n_reused: int  # communicators under the handle of one that had been freed


@dataclass
class Node:
    """The communicators of one creation; this rank is in one of them at most."""

    comm: Made
    has_id: bool
    keeps_count: bool = True


def counts() -> bool:
    is_on = os.environ.get("TEMPI_NO_DIRECT") != "1" and os.environ.get("TEMPI_STRATEGY", "auto") in ("auto", "direct")
    return in_the_way() and is_on


def comm_id(comm: MPI.Comm) -> int:
    return library().comm_id(handle_of(comm))


def handle_of(comm: MPI.Comm) -> int:
    return (handle(comm).value or 0) & 0xFFFF_FFFF_FFFF_FFFF


def members_of(comm: MPI.Comm) -> tuple[int, ...]:
    ranks = range(comm.Get_size())
    return tuple(comm.Get_group().Translate_ranks(list(ranks), MPI.COMM_WORLD.Get_group()))


# ---- creations; `draw` draws the same on all members


def dup(comm: MPI.Intracomm, draw: Random) -> Made:
    return comm.Dup()


def dup_with_info(comm: MPI.Intracomm, draw: Random) -> Made:
    return comm.Dup(MPI.INFO_NULL)


def split(comm: MPI.Intracomm, draw: Random) -> Made:
    colors = draw.choices((0, 0, 1, 2, MPI.UNDEFINED), k=comm.size)
    return comm.Split(colors[comm.rank], draw.choice((1, -1)) * comm.rank)


def split_type(comm: MPI.Intracomm, draw: Random) -> Made:
    if draw.random() < 0.3 and HAS_HARDWARE_TYPES:
        return split_by_hardware(comm, draw.choice(list(HARDWARE)))
    kinds = draw.choices((MPI.COMM_TYPE_SHARED, MPI.COMM_TYPE_SHARED, MPI.UNDEFINED), k=comm.size)
    return comm.Split_type(kinds[comm.rank])


VENDOR, VERSION = MPI.get_vendor()
HAS_HARDWARE_TYPES = MPI.COMM_TYPE_HW_GUIDED != MPI.UNDEFINED and (VENDOR != "Open MPI" or VERSION >= (5, 0, 0))
# Types of MPI_Comm_split_type, and a resource that no machine has.
HARDWARE = {"guided": {"mpi_hw_resource_type": "none such"}, "unguided": {}}


def split_by_hardware(comm: MPI.Intracomm, kind: str) -> Made:
    info = MPI.Info.Create(HARDWARE[kind])
    made = comm.Split_type({"guided": MPI.COMM_TYPE_HW_GUIDED, "unguided": MPI.COMM_TYPE_HW_UNGUIDED}[kind], 0, info)
    info.Free()
    return made


def create(comm: MPI.Intracomm, draw: Random) -> Made:
    parts = draw.choices((0, 0, 1, 2), k=comm.size)
    mine = [rank for rank in range(comm.size) if parts[rank] == parts[comm.rank] != 2]
    return comm.Create(comm.Get_group().Incl(mine) if mine else MPI.GROUP_EMPTY)


def cart(comm: MPI.Intracomm, draw: Random) -> Made:
    return comm.Create_cart([2, comm.size // 2] if comm.size > 1 else [1])


def cart_sub(comm: MPI.Intracomm, draw: Random) -> Made:
    if not isinstance(comm, MPI.Cartcomm):
        return small_cart(comm, draw)
    return comm.Sub([draw.random() < 0.5 for _ in range(comm.dim)])


def small_cart(comm: MPI.Intracomm, draw: Random) -> Made:
    return comm.Create_cart([draw.randint(1, comm.size)], reorder=draw.random() < 0.5)


def graph(comm: MPI.Intracomm, draw: Random) -> Made:
    n_nodes = draw.randint(1, comm.size)
    return comm.Create_graph(list(range(1, n_nodes + 1)), [(node + 1) % n_nodes for node in range(n_nodes)])


def dist_graph(comm: MPI.Intracomm, draw: Random) -> Made:
    return comm.Create_dist_graph([comm.rank], [1], [(comm.rank + 1) % comm.size])


def dist_graph_adjacent(comm: MPI.Intracomm, draw: Random) -> Made:
    return comm.Create_dist_graph_adjacent([(comm.rank - 1) % comm.size], [(comm.rank + 1) % comm.size])


def idup(comm: MPI.Intracomm, draw: Random) -> Made:
    made, request = comm.Idup(*draw.choice(((), (MPI.INFO_NULL,))) if has("Comm_idup_with_info") else ())
    request.Wait()
    return made


def create_group(comm: MPI.Intracomm, draw: Random) -> Made:
    chosen = draw.sample(range(comm.size), draw.randint(1, comm.size))
    tag = draw.choice((0, 0, 7))
    return comm.Create_group(comm.Get_group().Incl(chosen), tag) if comm.rank in chosen else None


def merge(comm: MPI.Intracomm, draw: Random) -> Made:
    if comm.size == 1:
        return None
    half = comm.size // 2
    side = comm.Split(comm.rank < half)
    between = side.Create_intercomm(0, comm, half if comm.rank < half else 0)
    copy = between.Dup()
    assert comm_id(between) == comm_id(copy) == 0
    merged = between.Merge(comm.rank < half)
    for made in (side, between, copy):
        made.Free()
    return merged


WITH_ID = (dup, dup_with_info, split, split_type, create, cart, cart_sub, graph, dist_graph, dist_graph_adjacent)
WITHOUT_ID = (idup,)


def gets_id(by: Callable[[MPI.Intracomm, Random], Made], parent: Node) -> bool:
    """Whether the new communicator has an id.

    Calls of the members of the new communicator only do not count the creations of the parent. A merged
    communicator has an id below MPI_THREAD_MULTIPLE.
    """
    if by is create_group:
        return parent.has_id
    if by is merge:
        return counts() and MPI.Query_thread() < MPI.THREAD_MULTIPLE
    return parent.has_id and parent.keeps_count and by in WITH_ID


@cache
def returning_handler() -> MPI.Errhandler:
    return MPI.Comm.Create_errhandler(lambda _comm, _code: None)


def fail(comm: MPI.Intracomm, draw: Random) -> None:
    """A call that the library refuses, with an error handler that returns: MPICH reports success with some."""
    before = comm.Get_errhandler()
    if draw.random() < 0.5:
        comm.Set_errhandler(returning_handler())
    with suppress(MPI.Exception):
        assert comm.Create_cart([comm.size + 1]) == MPI.COMM_NULL
    comm.Set_errhandler(before)


def message(comm: MPI.Intracomm) -> None:
    sent, received = np.full(3, comm.rank), np.zeros(3, int)
    comm.Sendrecv(sent, (comm.rank + 1) % comm.size, 0, received, (comm.rank - 1) % comm.size, 0)
    assert (received == (comm.rank - 1) % comm.size).all()


class Tree:
    def __init__(self, seed: int, fails: bool) -> None:
        self.seed, self.fails = seed, fails
        root = MPI.COMM_WORLD.Dup() if fails else MPI.COMM_WORLD
        self.nodes = [Node(root, counts())]
        self.n_null = self.n_reused = 0
        self.freed: set[int] = set()
        self.found = [self._seen(f"root of {seed}", root, counts())]

    def step(self, number: int, chosen: int) -> None:
        """Each communicator of the chosen creation takes its own step."""
        node, made = self.nodes[chosen], Node(None, False)
        if node.comm is not None:
            draw = Random(f"{self.seed} {number} {members_of(node.comm)}")
            act: Callable[[Node, Random], Node | None] = draw.choices(
                (self._create, self._free, self._message, self._fail), (8, 3 if chosen else 0, 1, int(self.fails))
            )[0]
            made = act(node, draw) or made
            if made.comm is not None:
                self.found.append(self._seen(f"{self.seed}, {number}", made.comm, made.has_id))
        self.nodes.append(made)

    def check_live(self) -> None:
        """An id stays."""
        seen = {(one.creation, one.members): one.comm_id for one in self.found}
        for number, node in enumerate(self.nodes[1:]):
            if node.comm is not None:
                assert comm_id(node.comm) == seen[f"{self.seed}, {number}", members_of(node.comm)]

    def end(self) -> None:
        for node in self.nodes[0 if self.fails else 1 :]:
            if node.comm is not None:
                node.comm.Free()

    def _create(self, node: Node, draw: Random) -> Node:
        by = draw.choice((*WITH_ID, *WITHOUT_ID, create_group, merge))
        assert isinstance(node.comm, MPI.Intracomm)
        comm = by(node.comm, draw)
        if comm is None or comm == MPI.COMM_NULL:
            self.n_null += 1
            return Node(None, False)
        self.n_reused += handle_of(comm) in self.freed
        return Node(comm, gets_id(by, node))

    def _free(self, node: Node, draw: Random) -> None:
        assert node.comm is not None
        self.freed.add(handle_of(node.comm))
        node.comm.Free()
        node.comm = None

    def _message(self, node: Node, draw: Random) -> None:
        assert isinstance(node.comm, MPI.Intracomm)
        message(node.comm)

    def _fail(self, node: Node, draw: Random) -> None:
        assert isinstance(node.comm, MPI.Intracomm)
        failing = draw.choice((range(node.comm.size), [draw.randrange(node.comm.size)]))
        if node.comm.rank in failing:
            fail(node.comm, draw)
            node.keeps_count = False

    def _seen(self, creation: str, comm: MPI.Comm, has_id: bool) -> Found:
        return Found(creation, members_of(comm), comm_id(comm), has_id)


def grow(seed: int, n_steps: int, fails: bool) -> Grown:
    """A random tree, and what this rank sees of it; with creations that fail, too."""
    tree = Tree(seed, fails)
    shared = Random(seed)
    for number in range(n_steps):
        tree.step(number, shared.randrange(len(tree.nodes)))
    tree.check_live()
    tree.end()
    assert comm_id(MPI.COMM_SELF) == 0
    return Grown(tree.found, tree.n_null, tree.n_reused)


def id_of_copy() -> tuple[int, int]:
    """The id of a communicator made by MPI_Comm_dup, after one made and freed."""
    MPI.COMM_WORLD.Dup().Free()
    comm = MPI.COMM_WORLD.Dup()
    found = comm_id(comm)
    comm.Free()
    return comm_id(MPI.COMM_WORLD), found


def id_behind_no_hardware(kind: str) -> tuple[bool, int]:
    """MPI_Comm_split_type makes no communicator; the id of the next one of the same parent."""
    parent = MPI.COMM_WORLD.Dup()
    is_null = split_by_hardware(parent, kind) == MPI.COMM_NULL
    child = parent.Dup()
    found = comm_id(child)
    child.Free()
    parent.Free()
    return is_null, found
