"""A model of exchanges among three processes: each kernel has a send and a receive for each other process.

The words and their order are those of src/pack/exchange_kernel.cuh, without timeouts (channel_model.py has them). A
kernel tells all senders that its buffers are ready, writes its sends in any order, and then waits for its receives.
Process 0 may end at each step. `violations` searches every order of the steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

N = 3


class Kernel(NamedTuple):
    """Of one process. An end that is `broken` moves no more data."""

    n_ended: int = 0  # exchanges
    runs: bool = False
    told: frozenset[int] = frozenset()  # the senders that know that the buffer is ready
    writing: frozenset[int] = frozenset()  # the receivers whose buffers this kernel is writing
    sent: frozenset[int] = frozenset()  # sends that are over
    received: frozenset[int] = frozenset()
    broken: frozenset[int] = frozenset()  # the peers of lost ends


class State(NamedTuple):
    kernels: tuple[Kernel, ...] = (Kernel(),) * N
    has_ended: bool = False  # process 0

    def after(self, rank: int, kernel: Kernel) -> State:
        return self._replace(kernels=(*self.kernels[:rank], kernel, *self.kernels[rank + 1 :]))

    def is_ready(self, receiver: int, sender: int) -> bool:
        """The signal of the send is above its count."""
        its = self.kernels[receiver]
        return its.n_ended + (sender in its.told) > self.kernels[sender].n_ended

    def is_filled(self, receiver: int, sender: int) -> bool:
        its = self.kernels[sender]
        n_filled = its.n_ended + (receiver in its.sent)
        return receiver not in its.broken and n_filled > self.kernels[receiver].n_ended


def _others(rank: int) -> list[int]:
    return [other for other in range(N) if other != rank]


def _sends(state: State, rank: int) -> Iterator[State]:
    own = state.kernels[rank]
    for peer in _others(rank):
        if peer in own.sent:
            continue
        if peer in own.writing:
            sent = own._replace(writing=own.writing - {peer}, sent=own.sent | {peer})
            yield state.after(rank, sent)
        elif peer in own.broken:
            yield state.after(rank, own._replace(sent=own.sent | {peer}))
        elif state.is_ready(peer, rank):
            yield state.after(rank, own._replace(writing=own.writing | {peer}))


def _receives(state: State, rank: int) -> Iterator[State]:
    own = state.kernels[rank]
    for peer in _others(rank):
        if peer not in own.received and (peer in own.broken or state.is_filled(rank, peer)):
            yield state.after(rank, own._replace(received=own.received | {peer}))


def _kernel_steps(state: State, rank: int, n_exchanges: int, mistake: str) -> Iterator[State]:
    own, others = state.kernels[rank], frozenset(_others(rank))
    receives_first = mistake == "receives first"
    tells_late = mistake == "tells after its sends"
    if not own.runs:
        if own.n_ended < n_exchanges:
            told = frozenset() if tells_late else others
            yield state.after(rank, own._replace(runs=True, told=told))
        return
    if own.sent != others and not (receives_first and own.received != others):
        yield from _sends(state, rank)
    if own.sent == others and own.told != others:
        yield state.after(rank, own._replace(told=others))
    elif own.received != others and (own.sent == others or receives_first):
        yield from _receives(state, rank)
    if own.sent == own.received == others:
        yield state.after(rank, Kernel(own.n_ended + 1, broken=own.broken))


def _losses(state: State, mistake: str) -> Iterator[State]:
    """The host of a process that lives tells its kernel of the one that has ended."""
    is_known = state.has_ended and mistake != "ignores the loss"
    if not is_known and mistake != "takes a late process for an ended one":
        return
    for rank in _others(0):
        own = state.kernels[rank]
        if 0 not in own.broken:
            yield state.after(rank, own._replace(broken=own.broken | {0}))


def _steps(state: State, n_exchanges: int, may_end: bool, mistake: str) -> Iterator[State]:
    for rank in range(1 if state.has_ended else 0, N):
        yield from _kernel_steps(state, rank, n_exchanges, mistake)
    if may_end and not state.has_ended:
        yield state._replace(has_ended=True)
    yield from _losses(state, mistake)


def _writes_wrongly(state: State) -> bool:
    """A kernel writes into the buffer of a living process whose kernel does not wait for it."""
    for rank in range(1 if state.has_ended else 0, N):
        own = state.kernels[rank]
        for peer in own.writing:
            its = state.kernels[peer]
            is_waiting = its.runs and its.n_ended == own.n_ended and rank not in its.received
            if not is_waiting and not (peer == 0 and state.has_ended):
                return True
    return False


def violations(n_exchanges: int, *, may_end: bool = False, mistake: str = "") -> tuple[set[str], int]:
    """What goes wrong in some order of the steps, and the number of states."""
    seen, todo, found = {State()}, [State()], set()
    while todo:
        state = todo.pop()
        if _writes_wrongly(state):
            found.add("a write into a buffer that the program has")
            continue
        following = list(_steps(state, n_exchanges, may_end, mistake))
        living = state.kernels[1:] if state.has_ended else state.kernels
        if not following and any(kernel.n_ended < n_exchanges for kernel in living):
            found.add("a stream waits for ever")
        fresh = {one for one in following if one not in seen}
        seen |= fresh
        todo += fresh
    return found, len(seen)
