"""Meetings (message/offers.cpp): the counts of one communicator, which calls close for good."""

from __future__ import annotations

from actions.action import DONE, Next, action
from library import State
from model_state import Model


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
    state["sent", process, line] += is_counted
    state["turn", m] = state["sent", process, line]


def count_receive(model: Model, state: State, thread: int, r: str) -> int | None:
    """Meetings::place_receive: the number of the receive in its line, or none."""
    process, receive = model.process(thread), model.calls.receives[r]
    first = state["receiver", process, receive.comm]
    state["receiver", process, receive.comm] = thread if first is None else first
    if first not in (None, thread) and "open after a second receiver" not in model.faults:
        close_receives(model, state, thread, receive.comm)
    if state["closed receives", process, receive.comm]:
        return None
    if receive.kind == "host_receive" and "host receives not counted" in model.faults:
        return None
    key = ("received", process, (receive.comm, receive.source, receive.tag))
    state[key] += 1
    return int(state[key])


@action
def close_receives(model: Model, state: State, thread: int, comm: int) -> Next:
    process = model.process(thread)
    state["closed receives", process, comm] = True
    state["shut", process] |= {comm}
    return DONE


@action
def close_meetings(model: Model, state: State, thread: int, comm: int) -> Next:
    state["closed sends", model.process(thread), comm] = True
    return close_receives(model, state, thread, comm)


@action
def close_all_meetings(model: Model, state: State, thread: int) -> Next:
    for key in state:
        if key[:2] == ("closed sends", model.process(thread)):
            close_meetings(model, state, thread, key[2])
    return DONE
