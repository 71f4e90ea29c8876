"""Random sets of requests, and the calls that complete them. A plan is its seed; every rank draws the same one.

Rank 1 has the set: it starts the requests, and completes them with the calls of the plan. Rank 0 has the other ends of
the messages, some of which act before the first of these calls, the others behind it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from support.memory import KINDS
from support.p2p import has

SINGLE = ("Wait", "Test")
OF_ONE = (*SINGLE, "Waitany", "Testany")  # calls that complete one request: their code is the request's
OF_ARRAYS = ("Waitall", "Testall", "Waitsome", "Testsome")
QUERIES = tuple(
    name
    for name in ("Request_get_status", *(f"Request_get_status_{which}" for which in ("all", "any", "some")))
    if has(name)
)
FILES = ("read", "write")
N_ROUNDS = 3


@dataclass(frozen=True)
class Item:
    """A request of the set, or a null one."""

    what: str  # "recv", "send", "read", "write" or "null"
    persistent: bool
    kind: str  # of the request's memory, and of the memory at the other end
    peer_kind: str
    comm: str
    room: int  # INTs of the request's buffer
    is_short: bool  # its layout: blocks of one INT, or contiguous ones
    sent: tuple[int, ...]  # INTs of the message of each round; more than `room`: it is too long
    is_early: tuple[bool, ...]  # its other end acts before the calls of the round
    freed_in: int  # the round in which MPI_Request_free takes the place of a completing call; -1: none

    def lives_in(self, n: int) -> bool:
        return self.what != "null" and not (self.persistent and 0 <= self.freed_in < n)

    def is_too_long(self, n: int) -> bool:
        return self.sent[n] > self.room

    @property
    def is_file(self) -> bool:
        return self.what in FILES


@dataclass(frozen=True)
class Round:
    posts_first: bool  # the other rank begins when all requests are started
    starts_together: bool
    before: tuple[str, ...]  # calls that need not complete anything, before the late other ends act
    query: str  # completes nothing; asked until it says that all are complete; "": not asked
    completion: str


@dataclass(frozen=True)
class Plan:
    seed: int
    has_handler: bool  # an error handler that returns; else MPI_ERRORS_RETURN
    items: tuple[Item, ...]
    rounds: tuple[Round, ...]


def _item(draw: random.Random, with_files: bool, may_be_long: bool) -> Item:
    what = draw.choice(("recv",) * 4 + ("send",) * 2 + ("null",) + FILES * with_files)
    room = draw.choice((12, 12, 1000, 80_000))
    is_long = may_be_long and what == "recv" and draw.random() < 0.4
    lengths = (room // 2, room, room) + ((room * 2,) * 3 if is_long else ())
    sent = tuple(draw.choice(lengths) if what == "recv" else room for _ in range(N_ROUNDS))
    may_be_freed = what in ("recv", "send") and not is_long and draw.random() < 0.15
    return Item(
        what,
        what in ("recv", "send") and draw.random() < 0.6,
        draw.choice(KINDS),
        draw.choice(KINDS),
        draw.choice("ab"),
        room,
        draw.random() < 0.7,
        sent,
        tuple(draw.random() < 0.6 for _ in range(N_ROUNDS)),
        draw.randrange(N_ROUNDS) if may_be_freed else -1,
    )


def _round(draw: random.Random, with_files: bool) -> Round:
    # MPICH ends a file's request in a query, and in an MPI_Testall that finds an error: what comes next aborts.
    query = draw.choice(QUERIES) if not with_files and draw.random() < 0.3 else ""
    completions = OF_ONE + tuple(name for name in OF_ARRAYS if not (with_files and name == "Testall"))
    early = ("Test", "Testany", "Testsome", *(() if with_files else ("Testall", *QUERIES)))
    return Round(
        draw.random() < 0.5,
        draw.random() < 0.5,
        tuple(draw.choice(early) for _ in range(draw.randrange(3))),
        query,
        draw.choice(completions),
    )


def plan(seed: int) -> Plan:
    draw = random.Random(seed)
    with_files, may_be_long = draw.random() < 0.25, draw.random() < 0.7
    items = tuple(_item(draw, with_files, may_be_long) for _ in range(draw.randint(1, 6)))
    rounds = tuple(_round(draw, with_files) for _ in range(N_ROUNDS))
    return Plan(seed, draw.random() < 0.5, items, rounds)
