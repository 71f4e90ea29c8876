"""All interleavings of a program: breadth first, so that a counterexample is among the shortest."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from library import Violation
from programs import Program
from protocol import Log, Protocol
from published_receives_table import Step

Key = tuple[Any, ...]


class Found(NamedTuple):
    """The end of a search. `trace`: of a counterexample, or empty."""

    n_states: int
    n_ends: int
    taken: set[Step]
    trace: str = ""


def _told(protocol: Protocol, log: Log) -> list[str]:
    lines = []
    for thread, (name, *arguments) in log:
        who = f"process {protocol.calls.process_of[thread]}" if thread >= 0 else "the library"
        if thread >= 0 and not protocol.is_alone[thread]:
            who += f", thread {thread}"
        if name == "call":
            of, place = arguments
            lines.append(
                f"{who} calls {protocol.program.threads[of].ops[place]}, named {protocol.calls.names[of, place]}"
            )
        else:
            lines.append(f"{who}: {' '.join([name, *map(str, arguments)])}")
    return lines


def _trace(protocol: Protocol, parents: dict[Key, tuple[Key, Log] | None], last: Key, cause: Violation) -> str:
    steps = _told(protocol, tuple(protocol.log))
    while (before := parents[last]) is not None:
        last, log = before
        steps[:0] = _told(protocol, log)
    numbered = [f"{k:4} {line}" for k, line in enumerate(steps, 1)]
    return "\n".join([str(protocol.program), *numbered, f"  => {cause}"])


def search(program: Program, faults: Iterable[str] = (), *, most_states: int = 1_000_000) -> Found:
    """All states, or the first `most_states`."""
    protocol = Protocol(program, faults)
    first = protocol.initial()
    for thread in protocol.threads:
        protocol.run_local(first, thread)
    names = list(first)
    start = tuple(first.values())
    parents: dict[Key, tuple[Key, Log] | None] = {start: None}
    waiting, n_ends = deque([start]), 0
    while waiting and len(parents) < most_states:
        key = waiting.popleft()
        state = dict(zip(names, key, strict=True))
        try:
            after = protocol.successors(state)
            if not after:
                n_ends, protocol.log = n_ends + 1, []
                protocol.check_end(state)
        except Violation as cause:
            trace = _trace(protocol, parents, key, cause)
            return Found(len(parents), n_ends, protocol.taken, trace)
        for log, new in after:
            new_key, n_known = tuple(new.values()), len(parents)
            parents.setdefault(new_key, (key, log))
            if len(parents) > n_known:
                waiting.append(new_key)
    return Found(len(parents), n_ends, protocol.taken)
