"""Meetings (message/meetings.cpp): the counts of one communicator, which calls close for good."""

from __future__ import annotations

from actions.action import DONE, Next, action, local
from library import State
from model_state import Model
from programs import ANY


def count_send(model: Model, state: State, thread: int, m: str) -> None:
    """Meetings::note_send: the turn of the message, or none."""
    state["issued", m] = True
    process, line = model.process(thread), model.line_of(m)
    first = state["sender", process, line[0]]
    state["sender", process, line[0]] = thread if first is None else first
    if first not in (None, thread) and "open after a second sender" not in model.faults:
        state["closed sends", process, line[0]] = True
    if state["closed sends", process, line[0]]:
        return
    is_counted = model.calls.messages[m].kind != "host_send" or "host sends not counted" not in model.faults
    to_all = ("sent to", process, line[0], line[1])
    state["sent", process, line] += is_counted
    state[to_all] += is_counted
    state["turn", m], state["turn of all", m] = state["sent", process, line], state[to_all]


def is_another_receiver(model: Model, state: State, thread: int, comm: int) -> bool:
    """Meetings::is_in_turn."""
    key = ("receiver", model.process(thread), comm)
    first = state[key] = thread if state[key] is None else state[key]
    return first != thread and "open after a second receiver" not in model.faults


def is_of_other_kind(model: Model, state: State, thread: int, r: str) -> bool:
    """Meetings::is_of_other_kind: receives from one source have each a tag, or all any."""
    process, receive = model.process(thread), model.calls.receives[r]
    key, is_any = ("any tag", process, receive.comm, receive.source), receive.tag == ANY
    if state["closed receives", process, receive.comm]:
        return False
    first = state[key] = is_any if state[key] is None else state[key]
    fault = "any tag behind tags" if is_any else "tags behind any tag"
    return bool(first != is_any) and fault not in model.faults


def count_receive(model: Model, state: State, thread: int, r: str) -> int | None:
    """Meetings::count_receive: the number of the receive in its line, or none."""
    process, receive = model.process(thread), model.calls.receives[r]
    if state["closed receives", process, receive.comm]:
        return None
    if receive.kind == "host_receive" and "host receives not counted" in model.faults:
        return None
    key = ("received", process, (receive.comm, receive.source, receive.tag))
    state[key] += 1
    return int(state[key])


@action
def close_receives(model: Model, state: State, thread: int, comm: int) -> Next:
    key = ("closed receives", model.process(thread), comm)
    if state[key]:
        return DONE
    state[key] = True
    return [(("list_closed", comm),)]


@action
def list_closed(model: Model, state: State, thread: int, comm: int) -> Next:
    """Mailbox::close."""
    state["shut", model.process(thread)] |= {comm}
    return DONE


@action
def close_meetings(model: Model, state: State, thread: int, comm: int) -> Next:
    """Meetings::close: the sends first."""
    state["closed sends", model.process(thread), comm] = True
    return [(("close_receives", comm),)]


@local
def close_all_meetings(model: Model, state: State, thread: int) -> Next:
    keys = [key for key in state if key[:2] == ("closed sends", model.process(thread))]
    return [tuple(("close_meetings", comm) for _, _, comm in keys)]
