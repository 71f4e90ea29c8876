"""The MPI library as the protocol matches it: channels, posted receives and unexpected messages (MPI-4.1, 3.5).

A state is a dictionary with a fixed set of keys and immutable values. Its keys here:
    channel, comm, source, destination   messages under way, in order
    posted, process                      receives, in the order of posting
    unexpected, process                  messages that have arrived without a receive, in order of arrival
    matched, receive                     its message, "cancelled", or None
    matched, message                         the receive or the probe that has matched it, or None
    issued, message                      the program has made the call
"""

from __future__ import annotations

from typing import Any, NamedTuple

from programs import ANY, RECEIVES, SENDS, Op, Program

State = dict[tuple[Any, ...], Any]


class Violation(Exception):
    """A property that does not hold."""


class Message(NamedTuple):
    source: int
    destination: int
    tag: int
    comm: int
    kind: str
    thread: int  # of all processes'
    order: int  # among the calls of the thread


class Receive(NamedTuple):
    process: int
    source: int
    tag: int
    comm: int
    kind: str
    thread: int


class Calls:
    """The messages and the receives of a program, numbered."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.process_of = [thread.process for thread in program.threads]
        self.n_processes = 1 + max(self.process_of)
        self.messages: dict[str, Message] = {}
        self.receives: dict[str, Receive] = {}
        self.names: dict[tuple[int, int], str] = {}  # of a call, by thread and place
        for thread, (process, ops) in enumerate(program.threads):
            for place, op in enumerate(ops):
                self._add(thread, process, place, op)
        self.channels = list(dict.fromkeys(map(self.channel, self.messages)))

    def _add(self, thread: int, process: int, place: int, op: Op) -> None:
        name = op.names or f"{'m' if op.kind in SENDS else 'r'}{thread}.{place}"
        self.names[thread, place] = name
        if op.kind in SENDS:
            self.messages[name] = Message(process, op.peer, op.tag, op.comm, op.kind, thread, place)
        elif op.kind in (*RECEIVES, "probe", "iprobe", "mprobe"):
            self.receives[name] = Receive(process, op.peer, op.tag, op.comm, op.kind, thread)

    def accepts(self, receive: str, message: str) -> bool:
        r, m = self.receives[receive], self.messages[message]
        is_there = r.comm == m.comm and r.process == m.destination
        return is_there and r.source in (ANY, m.source) and r.tag in (ANY, m.tag)

    def channel(self, message: str) -> tuple[Any, ...]:
        m = self.messages[message]
        return ("channel", m.comm, m.source, m.destination)

    def initial(self) -> State:
        state: State = {}
        for process in range(self.n_processes):
            state["posted", process] = state["unexpected", process] = ()
        for name in self.receives:
            state["matched", name] = None
        for name in self.messages:
            state["matched", name], state["issued", name] = None, False
            state[self.channel(name)] = ()
        return state


def _check_order(calls: Calls, state: State, receive: str, message: str) -> None:
    """Non-overtaking: no earlier message of the same thread that the receive accepts is without one."""
    m = calls.messages[message]
    for name, other in calls.messages.items():
        is_earlier = (other.thread, other.comm, other.destination) == (m.thread, m.comm, m.destination)
        if is_earlier and other.order < m.order and state["matched", name] is None and calls.accepts(receive, name):
            raise Violation(f"{message} overtakes {name}: it is matched with {receive} first")


def _match(calls: Calls, state: State, receive: str, message: str, kind: str) -> None:
    _check_order(calls, state, receive, message)
    state["matched", message] = receive
    state["matched", receive] = (message, kind)


def arrive(calls: Calls, state: State, channel: tuple[Any, ...]) -> str:
    """The first message of a channel matches the first posted receive that accepts it, or is unexpected."""
    (message, kind), *rest = state[channel]
    state[channel] = tuple(rest)
    process = channel[-1]
    for receive in state["posted", process]:
        if calls.accepts(receive, message):
            state["posted", process] = tuple(one for one in state["posted", process] if one != receive)
            _match(calls, state, receive, message, kind)
            return f"the {kind} {message} meets {receive}"
    state["unexpected", process] += ((message, kind),)
    return f"the {kind} {message} is unexpected"


def first_unexpected(calls: Calls, state: State, receive: str) -> tuple[str, str] | None:
    waiting = state["unexpected", calls.receives[receive].process]
    return next((one for one in waiting if calls.accepts(receive, one[0])), None)


def post(calls: Calls, state: State, receive: str) -> None:
    process = calls.receives[receive].process
    found = first_unexpected(calls, state, receive)
    if found is None:
        state["posted", process] += (receive,)
    else:
        state["unexpected", process] = tuple(one for one in state["unexpected", process] if one != found)
        _match(calls, state, receive, *found)


def take_matched(calls: Calls, state: State, probe: str) -> bool:
    """MPI_Mprobe. False: there is no message."""
    if (found := first_unexpected(calls, state, probe)) is None:
        return False
    post(calls, state, probe)
    if found[1] == "fin":
        raise Violation(f"the matched probe {probe} gets the fin {found[0]}")
    return True


def look(calls: Calls, state: State, probe: str) -> bool:
    """MPI_Probe. False: there is no message."""
    if (found := first_unexpected(calls, state, probe)) is None:
        return False
    _check_order(calls, state, probe, found[0])
    if found[1] == "fin":
        raise Violation(f"the probe {probe} sees the fin {found[0]}")
    return True


def send(calls: Calls, state: State, message: str, kind: str) -> None:
    state[calls.channel(message)] += ((message, kind),)


def cancel(calls: Calls, state: State, receive: str) -> None:
    process = calls.receives[receive].process
    if receive in state["posted", process]:
        state["posted", process] = tuple(one for one in state["posted", process] if one != receive)
        state["matched", receive] = "cancelled"


def would_block(calls: Calls, state: State, receive: str) -> bool:
    """Without the shim, too: no message that has been sent is left for it."""
    left = [name for name in calls.messages if state["issued", name] and state["matched", name] is None]
    return state["matched", receive] is None and not any(calls.accepts(receive, name) for name in left)
