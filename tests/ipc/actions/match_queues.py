"""Match queues of the shared segment (segment/own_segment.cpp): the receiver alone writes them."""

from __future__ import annotations

from actions.action import DONE, Action, Next, action
from library import State
from model_state import ENDED, NONE, MatchKey, Model


def match_queue(model: Model, state: State, process: int, key: MatchKey) -> tuple[int, tuple[Action, ...]]:
    """OwnSegment::match queue: its number, and the stores that make it this one's if it is used again."""
    match_queues = range(model.n_match_queues[process])
    for number in match_queues:
        if state["match_queue", process, number] == key:
            return number, ()
    number = next(k for k in match_queues if state["match_queue", process, k][0] in (NONE, ENDED))
    if state["match_queue", process, number][0] == NONE:
        state["match_queue", process, number] = key
        return number, ()
    return number, (("set_key", number, key), ("set_base", number), ("set_comm", number, key))


@action
def set_key(model: Model, state: State, thread: int, number: int, key: MatchKey) -> Next:
    state["match_queue", model.process(thread), number] = (ENDED, *key[1:])
    return DONE


@action
def set_base(model: Model, state: State, thread: int, number: int) -> Next:
    process = model.process(thread)
    if "numbers begin again" in model.faults:
        state["n_posted", process, number] = 0
    state["base", process, number] = state["n_posted", process, number]
    return DONE


@action
def set_comm(model: Model, state: State, thread: int, number: int, key: MatchKey) -> Next:
    state["match_queue", model.process(thread), number] = key
    return DONE


@action
def end_match_queues(model: Model, state: State, thread: int, comm: int) -> Next:
    """OwnSegment::end, of a communicator that is freed: one match queue after the other."""
    process = model.process(thread)
    for number in range(model.n_match_queues[process]):
        key = state["match_queue", process, number]
        if key[0] == comm:
            state["match_queue", process, number] = (ENDED, *key[1:])
            return [(("end_match_queues", comm),)]
    return DONE


@action
def end_closed(model: Model, state: State, thread: int, comm: int) -> Next:
    """Then its entry among the closed ones."""
    state["shut", model.process(thread)] -= {comm}
    return DONE
