"""Lines of the mailbox (mailbox/mailbox.cpp): the receiver alone writes them."""

from __future__ import annotations

from actions.action import DONE, Action, Next, action
from library import State
from model_state import ENDED, NONE, LineKey, Model


def line(model: Model, state: State, process: int, key: LineKey) -> tuple[int, tuple[Action, ...]]:
    """Mailbox::line: its number, and the stores that make it this one's if it is used again."""
    lines = range(model.n_lines[process])
    for number in lines:
        if state["line", process, number] == key:
            return number, ()
    number = next(k for k in lines if state["line", process, k][0] in (NONE, ENDED))
    if state["line", process, number][0] == NONE:
        state["line", process, number] = key
        return number, ()
    return number, (("set_key", number, key), ("set_base", number), ("set_comm", number, key))


@action
def set_key(model: Model, state: State, thread: int, number: int, key: LineKey) -> Next:
    state["line", model.process(thread), number] = (ENDED, *key[1:])
    return DONE


@action
def set_base(model: Model, state: State, thread: int, number: int) -> Next:
    process = model.process(thread)
    if "numbers begin again" in model.faults:
        state["n_posted", process, number] = 0
    state["base", process, number] = state["n_posted", process, number]
    return DONE


@action
def set_comm(model: Model, state: State, thread: int, number: int, key: LineKey) -> Next:
    state["line", model.process(thread), number] = key
    return DONE


@action
def end_lines(model: Model, state: State, thread: int, comm: int) -> Next:
    """Mailbox::end, of a communicator that is freed: one line after the other."""
    process = model.process(thread)
    for number in range(model.n_lines[process]):
        key = state["line", process, number]
        if key[0] == comm:
            state["line", process, number] = (ENDED, *key[1:])
            return [(("end_lines", comm),)]
    return DONE


@action
def end_closed(model: Model, state: State, thread: int, comm: int) -> Next:
    """Then its entry among the closed ones."""
    state["shut", model.process(thread)] -= {comm}
    return DONE
