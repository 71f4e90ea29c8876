"""The schedules of test_direct_schedules.py, each drawn from its seed: random messages on few lines.

A schedule is drawn alike on all ranks. Its messages have one order, in which every rank does its part; a receive that
does not block may be posted ahead of its place. So nothing waits in a circle, whatever the sends wait for.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import ways

from support import constructors as c
from support.messages import KINDS, Carried, End
from support.p2p import FORMS
from support.typemap import Named

INT = Named("INT")
SIZES = (24, 24, 24, 96, 6000)  # elements, by tag
# In blocks of 4 bytes: in bounce buffers, whole and in chunks (transport/ipc/bounce_buffer.cpp)
SHORT_BLOCKS = 66_000, 540_000
SENDS = tuple(
    filter(ways.has, ("Isend",) * 6 + ("Issend", "Send_init", "Isendrecv", "Send", "Ssend", "Ibsend", "Sendrecv"))
)
RECEIVES = tuple(filter(ways.has, ("Irecv",) * 6 + ("Recv_init", "Recv", "Isendrecv", "Sendrecv", "Recv probed")))
BLOCKING = ("Send", "Ssend", "Sendrecv")
LONGER = 0.15  # share of receives that have room for any message


UNEVEN = c.Indexed(tuple(1 + k % 2 for k in range(66)) + (1,), tuple(range(0, 201, 3)), INT)


class Flavour(NamedTuple):
    kinds: tuple[str, ...]
    rare: float = 0.0  # share of steps that leave the matching undecided: wildcards, probes, cancels
    sizes: tuple[int, ...] = SIZES
    most: int = 20  # messages of a phase


def there(*kinds: str) -> tuple[str, ...]:
    """Those that this machine has."""
    return tuple(kind for kind in kinds if kind in KINDS)


PLAINLY = Flavour(there(*("device",) * 6, "device 1"))
MIXED = Flavour(there(*("device",) * 5, "device 1", "managed", "host", "pinned"), 0.06)
BOUNCING = Flavour(there("device", "device 1", "managed"), 0.01, (24, 6000, *SHORT_BLOCKS), 8)


@dataclass
class Message(Carried):
    source: int  # in MPI_COMM_WORLD, as target
    target: int
    comm: int
    tag: int
    is_wild: bool = False
    is_untagged: bool = False  # received from its source with any tag
    place: int = 0  # of its receive's posting among the messages

    def line(self) -> tuple[int, int, int, int]:
        return (self.comm, self.source, self.target, self.tag)

    def may_be_direct(self) -> bool:
        ends = (self.sent, self.received)
        return all(end.kind.startswith("device") for end in ends) and not self.is_wild and self.send != "Ibsend"


def layout(draw: random.Random, n: int) -> c.Spec:
    """Datatypes of `n` INTs; most pairs of them compose, or use bounce buffers."""
    if n in SHORT_BLOCKS:
        return draw.choice((c.Vector(n, 1, 2, INT), c.Vector(n // 2, 2, 3, INT), c.Vector(n // 100, 1, 2, UNEVEN)))
    return draw.choice(
        (
            c.Vector(n // 4, 4, 7, INT),
            c.Vector(n // 2, 2, 5, INT),
            c.Vector(n // 8 if n % 8 == 0 else n // 3, 8 if n % 8 == 0 else 3, 9, INT),
            c.Contiguous(n, INT),
            c.Vector(2, n // 2, n // 2 + 3, c.Vector(1, 1, 2, INT)),
            c.Indexed((n // 2, n // 2), (n // 2 + 2, 0), INT),
        )
    )


@dataclass
class Phase:
    messages: list[Message]
    completions: list[str]
    is_synchronous: bool
    rare: list[tuple[int, int, str]] = field(default_factory=list)  # place, rank, what


class Plan:
    """The schedule of a seed."""

    def __init__(self, seed: int, size: int, flavour: Flavour) -> None:
        self.draw, self.size, self.flavour = random.Random(seed), size, flavour
        self.comms: list[tuple[str, int, bool]] = [("dup", -1, False)]
        for _ in range(self.draw.choice((0, 0, 1, 2))):
            kind = self.draw.choice(("dup", "split", "halves"))
            self.comms.append((kind, self.draw.randrange(-1, len(self.comms)), self.draw.random() < 0.5))
        self.freed_early = {k for k in range(len(self.comms)) if self.draw.random() < 0.15}
        self.untagged: dict[tuple[int, int, int], bool] = {}  # by communicator, source and target
        self.sends_first = [self.draw.random() < 0.5 for _ in range(16)]
        self.phases = [self._phase() for _ in range(self.draw.choice((1, 1, 2, 3)))]

    def halves(self, comm: int) -> int:
        """In how many parts, by the world rank's remainder, the communicator is split: 1 or 2."""
        kind, parent, _ = self.comms[comm]
        return 2 if kind == "halves" or (parent >= 0 and self.halves(parent) == 2) else 1

    def _phase(self) -> Phase:
        draw = self.draw
        n = min(draw.choice((1, 2, 4, 8, 12, 20)), self.flavour.most)
        lines = [self._line() for _ in range(draw.choice((1, 2, 4)))]
        messages = [self._message(*draw.choice(lines)) for _ in range(n)]
        for message in messages:
            self._choose_tag(message)
        rare = [
            (draw.randrange(n + 1), draw.randrange(self.size), draw.choice(("peek", "take", "cancel", "cancel one")))
            for _ in range(n)
            if draw.random() < self.flavour.rare
        ]
        wild = draw.random() < 4 * self.flavour.rare
        if wild:
            self._make_wild(messages)
        self._place(messages)
        completions = [draw.choice(list(ways.COMPLETIONS)) for _ in range(self.size)]
        return Phase(messages, completions, wild or draw.random() < 0.3, rare)

    def _line(self) -> tuple[int, int, int, int]:
        draw = self.draw
        comm, source = draw.randrange(len(self.comms)), draw.randrange(self.size)
        step = self.halves(comm)
        target = (source + step * draw.randrange(1, 3)) % self.size if self.size % step == 0 else source
        return comm, source, target, draw.randrange(len(self.flavour.sizes))

    def _message(self, comm: int, source: int, target: int, tag: int) -> Message:
        draw, n = self.draw, self.flavour.sizes[tag]
        sent, received = (End(draw.choice(self.flavour.kinds), layout(draw, n), 1, draw.getrandbits(31)) for _ in "01")
        send, recv = draw.choice(SENDS), draw.choice(RECEIVES)
        if source == target and send in BLOCKING:
            send = "Isend"
        if recv == "Recv probed" and draw.random() > self.flavour.rare * 10:
            recv = "Irecv"
        return Message(sent, received, send, recv, draw.choice(FORMS), source, target, comm, tag)

    def _choose_tag(self, message: Message) -> None:
        """All receives of one rank from another one on a communicator have any tag, or none has."""
        line = message.line()[:3]
        if line not in self.untagged:
            self.untagged[line] = self.draw.random() < 0.2
        message.is_untagged = self.untagged[line]
        if message.is_untagged:
            message.recv = self.draw.choice(("Irecv", "Irecv", "Recv_init", "Recv"))
        shifts = message.is_untagged and self.flavour.rare  # what is cancelled or probed shifts the order
        if shifts or self.draw.random() < LONGER:
            self._make_long(message)

    def _make_long(self, message: Message) -> None:
        """It may receive any other."""
        end = message.received
        message.received = End(end.kind, layout(self.draw, max(self.flavour.sizes)), 1, end.seed)

    def _make_wild(self, messages: list[Message]) -> None:
        """From some message on, all receives of one rank on one communicator."""
        comm, target = self.draw.randrange(len(self.comms)), self.draw.randrange(self.size)
        for message in messages[self.draw.randrange(len(messages)) :]:
            if (message.comm, message.target) == (comm, target):
                message.is_wild = True
                message.recv = self.draw.choice(("Irecv", "Recv_init"))
                self._make_long(message)

    def _place(self, messages: list[Message]) -> None:
        """Ahead of its place, but not of an earlier receive that could match the same messages."""
        last: dict[tuple[int, int], int] = defaultdict(int)
        ahead = self.draw.choice((0, 2, 100))
        for k, message in enumerate(messages):
            may_go = message.recv in ("Irecv", "Recv_init")
            at = max(0, k - self.draw.randint(0, ahead)) if may_go else k
            key = (message.comm, message.target)
            last[key] = message.place = max(at, last[key])
