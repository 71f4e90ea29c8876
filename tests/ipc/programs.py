"""The programs whose messages the model follows: a few calls a thread, from an alphabet of calls."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from string import ascii_letters
from typing import NamedTuple

ANY = -1


class Op(NamedTuple):
    """One call.

    Attributes
    ----------
    kind : str
        Sends: "send" (GPU memory), "bounced" (into the bounce buffer of its receive), "misfit" (its layout does not
        compose with any receive's), "failing" (its kernel fails before its FIN message is sent), "failing_late" (behind
        it, if it goes first), "failing_bounced" (its second chunk does), "lost" (packed, its
        start fails: the library never has it), "lost_fin" (the same behind the bytes), "host_send".
        Receives: "receive" (GPU memory), "host_receive". "probe", "iprobe", "mprobe" (with its
        Mrecv), "wait" (for `names`, or for all receives of the thread so far), "cancel" and "drop" (MPI_Request_free)
        of `names`, "free" (MPI_Comm_free), "flush" (another call that blocks).
    peer, tag : int
        ANY in receives and probes: the wildcard.
    comm : int
        The id of the communicator.
    names : str
        Of a receive: its name. Each letter names one receive.
    """

    kind: str
    peer: int = 0
    tag: int = 0
    comm: int = 1
    names: str = ""

    def __str__(self) -> str:
        if self.kind in ("wait", "cancel", "drop", "flush"):
            return f"{self.kind} {self.names}".rstrip()
        where = f"comm {self.comm}" if self.kind == "free" else f"{self.peer} tag {self.tag} comm {self.comm}"
        return f"{self.kind} {where.replace('-1', 'any')}{' = ' + self.names if self.names else ''}"


SENDS = ("send", "bounced", "misfit", "failing", "failing_late", "failing_bounced", "lost", "lost_fin", "host_send")
BOUNCED = ("bounced", "failing_bounced")
RECEIVES = ("receive", "host_receive")


class Thread(NamedTuple):
    process: int
    ops: tuple[Op, ...]


class Program(NamedTuple):
    """Threads of processes.

    `is_synchronous`: the library completes sends when their receives have matched; else it buffers them.
    """

    threads: tuple[Thread, ...]
    is_synchronous: bool = False

    def __str__(self) -> str:
        match_queues = [f"process {one.process}: " + "; ".join(map(str, one.ops)) for one in self.threads]
        return "\n".join(match_queues) + ("\n(synchronous sends)" if self.is_synchronous else "")


def between(*threads: list[Op], is_synchronous: bool = False) -> Program:
    """A program of processes with one thread each."""
    return Program(tuple(Thread(k, tuple(ops)) for k, ops in enumerate(threads)), is_synchronous)


def parsed(text: str) -> Program:
    """A program in short form: calls of a thread by blanks, threads by "|", "&" before a further thread of a process.

    A call: letter, peer, tag, and "'" for the second communicator. S send, L bounced, M misfit, F failing, G failing
    late, K failing bounced, Z lost, Y lost FIN message, H host send; R receive, Q host receive; P probe, I iprobe, T
    matched probe; any tag or peer is "*". With a name instead: C cancel, D drop, W wait. X free of the communicator, B
    a call that blocks, "W" alone waits for all. "R10=a": a receive with a name. "~" before all: synchronous sends.
    """
    is_synchronous, text = text.startswith("~"), text.removeprefix("~")
    threads, process = [], -1
    for part in text.split("|"):
        is_further = part.startswith("&")
        process += not is_further
        threads.append(Thread(process, tuple(_op(word) for word in part.lstrip("&").split())))
    return Program(tuple(threads), is_synchronous)


_KINDS = {
    "S": "send", "L": "bounced", "M": "misfit", "F": "failing", "G": "failing_late", "K": "failing_bounced",
    "Z": "lost", "Y": "lost_fin", "H": "host_send",
    "R": "receive", "Q": "host_receive", "P": "probe", "I": "iprobe", "T": "mprobe",
    "C": "cancel", "D": "drop", "W": "wait", "X": "free", "B": "flush",
}  # fmt: skip


def _op(word: str) -> Op:
    kind, rest = _KINDS[word[0]], word[1:]
    if kind in ("cancel", "drop", "wait", "flush"):
        return Op(kind, names=rest)
    comm = 2 if "'" in rest else 1
    if kind == "free":
        return Op(kind, comm=comm)
    where, _, name = rest.replace("'", "").partition("=")
    peer, tag = (ANY if letter == "*" else int(letter) for letter in where)
    return Op(kind, peer, tag, comm, name)


# One direction: process 0 sends, process 1 receives.
_SENT = ("S10", "S11", "L10", "H10", "M10", "F10")
_RECEIVED = ("R00", "R01", "Q00", "R0*", "Q0*", "R*0", "I00", "T00", "C", "W")


def _orders(letters: tuple[str, ...], most: int) -> Iterator[tuple[str, ...]]:
    for n in range(1, most + 1):
        yield from itertools.product(letters, repeat=n)


def _named(words: tuple[str, ...], names: str = "abcdefgh") -> str | None:
    """Names for the receives; each "C" cancels the oldest that is not complete. None: there is none to cancel."""
    named, waiting = [], []
    for k, word in enumerate(words):
        if word[0] in "RQ":
            waiting.append(names[k])
            word += "=" + waiting[-1]
        if word == "W":
            if not waiting:
                return None
            waiting = []
        if word == "C":
            if not waiting:
                return None
            word += waiting.pop(0)
        named.append(word)
    return " ".join(named)


def one_way(most: int) -> list[Program]:
    """All programs of a sender and a receiver with up to `most` calls each."""
    received = [text for words in _orders(_RECEIVED, most) if (text := _named(words)) is not None]
    sent = [" ".join(words) for words in _orders(_SENT, most)]
    return [parsed(f"{first}|{second}") for first, second in itertools.product(sent, received)]


def freed_and_used_again() -> list[Program]:
    """Programs that free a communicator whose messages are all received, and use another one behind it."""
    sent = list(itertools.product(("S10", "S11", "H10"), repeat=2))
    received = list(itertools.product(("R00", "R01", "Q00", "R0*", "Q*0"), repeat=2))
    return [
        parsed(f"{' '.join(out)} {last}' X|{into[0]}=a {into[1]}=b X R0{tag}'")
        for (out, into), last, tag in itertools.product(itertools.product(sent, received), ("S10", "S11"), "01*")
        if _takes_all(into, out) and tag in ("*", last[2])
    ]


def _takes_all(received: tuple[str, ...], sent: tuple[str, ...]) -> bool:
    left = [word[2] for word in sent]
    for word in received:
        found = next((tag for tag in left if word[2] in ("*", tag)), None)
        if found is not None:
            left.remove(found)
    return not left


def _random_calls(rng: random.Random, me: int, n_processes: int, n: int) -> tuple[str, ...]:
    others = [k for k in range(n_processes) if k != me or rng.random() < 0.15]
    takes_any_tag = rng.random() < 0.25
    words = []
    for _ in range(n):
        kind = rng.choices("SLHMFGKRQITCWB", (8, 3, 3, 1, 1, 1, 1, 10, 3, 1, 1, 1, 1, 1))[0]
        peer = str(rng.choice(others))
        tag = rng.choice("001")
        if kind in "RQ" and takes_any_tag:
            tag = "*"
        if kind == "R" and rng.random() < 0.15:
            peer, tag = rng.choice((("*", tag), (peer, "*")))
        second = "'" if rng.random() < 0.15 else ""
        words.append(kind if kind in "CWB" else kind + peer + tag + second)
    return tuple(words)


def random_programs(count: int, *, n_processes: int, most: int, seed: int) -> Iterator[Program]:
    """Programs of which each process sends and receives."""
    rng = random.Random(seed)
    while count > 0:
        calls = [
            _named(_random_calls(rng, me, n_processes, rng.randint(1, most)), ascii_letters[8 * me :])
            for me in range(n_processes)
        ]
        if None not in calls:
            count -= 1
            yield parsed("|".join(map(str, calls)))._replace(is_synchronous=rng.random() < 0.3)
