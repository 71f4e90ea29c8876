"""Matcher (transport/ipc/matcher.cpp, undecided.cpp): counts of one communicator, which some calls close."""

from __future__ import annotations

from actions.action import DONE, Next, action
from library import State
from model_state import MatchKey, Model
from programs import ANY


def count_send(model: Model, state: State, thread: int, m: str) -> None:
    """Matcher::note_send: the sequence number of the message, or none."""
    state["issued", m] = True
    process, match_queue = model.process(thread), model.line_of(m)
    first = state["sender", process, match_queue[0]]
    state["sender", process, match_queue[0]] = thread if first is None else first
    if first not in (None, thread) and "open after a second sender" not in model.faults:
        state["closed sends", process, match_queue[0]] = True
    if state["closed sends", process, match_queue[0]]:
        return
    is_counted = model.calls.messages[m].kind != "host_send" or "host sends not counted" not in model.faults
    to_all = ("sent to", process, match_queue[0], match_queue[1])
    state["sent", process, match_queue] += is_counted
    state[to_all] += is_counted
    state["sequenced", m], state["sequence number of all", m] = state["sent", process, match_queue], state[to_all]


def is_another_receiver(model: Model, state: State, thread: int, comm: int) -> bool:
    """Matcher::is_in_turn."""
    key = ("receiver", model.process(thread), comm)
    first = state[key] = thread if state[key] is None else state[key]
    return first != thread and "open after a second receiver" not in model.faults


def is_of_other_kind(model: Model, state: State, thread: int, r: str) -> bool:
    """Matcher::is_of_other_kind: receives from one source have each a tag, or all any."""
    process, receive = model.process(thread), model.calls.receives[r]
    key, is_any = ("any tag", process, receive.comm, receive.source), receive.tag == ANY
    first = state[key] = is_any if state[key] is None else state[key]
    fault = "any tag behind tags" if is_any else "tags behind any tag"
    return bool(first != is_any) and fault not in model.faults


def count_receive(model: Model, state: State, thread: int, r: str) -> int:
    """Matcher::count_receive: the number of the receive in its match queue."""
    process, receive = model.process(thread), model.calls.receives[r]
    key = ("received", process, (receive.comm, receive.source, receive.tag))
    if receive.kind == "host_receive" and "host receives not counted" in model.faults:
        return int(state[key])
    state[key] += 1
    return int(state[key])


# ---- undecided receives: their numbers are known when they are complete


def begin_undecided(model: Model, state: State, thread: int, r: str) -> None:
    """Of a receive that is posted from any source, or of the other kind; of a matched probe; of a cancelled receive."""
    state["undecided", model.process(thread), model.calls.receives[r].comm] += (r,)


def is_in_doubt(model: Model, state: State, thread: int, r: str) -> bool:
    """An undecided receive may match the same message."""
    process, receive = model.process(thread), model.calls.receives[r]
    others = [model.calls.receives[one] for one in state["undecided", process, receive.comm]]
    return any(_agree(one.source, receive.source) and _agree(one.tag, receive.tag) for one in others)


def _agree(one: int, other: int) -> bool:
    return ANY in (one, other) or one == other


def decide(model: Model, state: State, r: str) -> None:
    """Undecided::decide: the receive, or the probe, has its message, or is cancelled."""
    receive = model.calls.receives[r]
    key = ("undecided", receive.process, receive.comm)
    if r not in state[key]:
        return
    state[key] = tuple(one for one in state[key] if one != r)
    matched = state["matched", r]
    if state["published receive order", r] == 0 and matched != "cancelled":
        _count_met(model, state, receive.process, matched[0], receive.kind)
    elif state["published receive order", r] != 0 and (
        matched == "cancelled" or "failed cancels are counted" in model.faults
    ):
        match_queue = (receive.comm, receive.source, receive.tag)
        state["received", receive.process, match_queue] -= "cancelled receives stay counted" not in model.faults


def _count_met(model: Model, state: State, process: int, m: str, kind: str) -> None:
    """A message counts in its match queue and in that of all tags, whichever its receiver has."""
    message = model.calls.messages[m]
    if ("matched probes are not counted" if kind == "mprobe" else "wildcards are not counted") in model.faults:
        return
    for tag in (message.tag, ANY):
        key = ("received", process, (message.comm, message.source, tag))
        if key in state and not (tag == ANY and "wildcards count for their tag alone" in model.faults):
            state[key] += 1
            _raise_n_posted(model, state, process, (message.comm, message.source, tag))


def _raise_n_posted(model: Model, state: State, process: int, match_queue: MatchKey) -> None:
    """Receives that were posted beside the undecided one have their numbers now."""
    if "last numbers stay behind wildcards" in model.faults:
        return
    for number in range(model.n_match_queues[process]):
        if state["match_queue", process, number] == match_queue:
            last = state["base", process, number] + state["received", process, match_queue]
            state["n_posted", process, number] = max(state["n_posted", process, number], last)


@action
def close_receives(model: Model, state: State, thread: int, comm: int) -> Next:
    key = ("closed receives", model.process(thread), comm)
    if state[key]:
        return DONE
    state[key] = True
    return [(("list_closed", comm),)]


@action
def list_closed(model: Model, state: State, thread: int, comm: int) -> Next:
    """OwnSegment::close."""
    state["shut", model.process(thread)] |= {comm}
    return DONE


@action
def close_matcher(model: Model, state: State, thread: int, comm: int) -> Next:
    """Matcher::close: the sends first."""
    state["closed sends", model.process(thread), comm] = True
    return [(("close_receives", comm),)]
