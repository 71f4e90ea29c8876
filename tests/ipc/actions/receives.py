"""A receive is published (transport/ipc/ipc.cpp, published_receives.cpp): its number, a slot, the stores."""

from __future__ import annotations

import library
from actions import bounce_buffer
from actions.action import BLOCKED, DONE, Next, action, local_if_alone
from actions.match_queues import match_queue
from actions.matcher import begin_undecided, count_receive, is_another_receiver, is_in_doubt, is_of_other_kind
from checks import check_matches
from library import State
from model_state import WINDOW, Model
from programs import ANY
from published_receives_table import FIRST


@local_if_alone
def note_receive(model: Model, state: State, thread: int, r: str) -> Next:
    """note_receive(); of host memory note_untouched(). Then the library's call, and publish_receive()."""
    receive = model.calls.receives[r]
    process, posting = model.process(thread), ("post_library", r)
    if is_another_receiver(model, state, thread, receive.comm):
        return [(("close_receives", receive.comm), posting)]
    if state["closed receives", process, receive.comm]:
        return [(posting,)]
    if receive.source == ANY or is_of_other_kind(model, state, thread, r):
        begin_undecided(model, state, thread, r)
        return [(posting,)]
    is_published = receive.kind == "receive" and not _waits_for_others(model, state, thread, r)
    return _placed(model, state, process, r, count_receive(model, state, thread, r), is_published)


def _waits_for_others(model: Model, state: State, thread: int, r: str) -> bool:
    return is_in_doubt(model, state, thread, r) and "published receives beside an undecided receive" not in model.faults


def _placed(model: Model, state: State, process: int, r: str, n: int, is_published: bool) -> Next:
    receive = model.calls.receives[r]
    key = ("order", process, (receive.comm, receive.source, receive.tag))
    state[key] += 1
    state["published receive order", r] = state[key]
    number, renewing = match_queue(model, state, process, (receive.comm, receive.source, receive.tag))
    slot = _take_slot(model, state, process, r) if is_published else None
    state["published_receive", r] = (slot, number, n)
    if slot is None:
        return [(*renewing, ("set_n_posted", r), ("post_library", r))]
    posting = (("publish_receive", r), ("set_word", r), ("set_slots", r), ("set_n_posted", r))
    if "published receives before the library" in model.faults:
        return [(*renewing, *posting, ("post_library", r))]
    return [(*renewing, ("post_library", r), *posting)]


def _take_slot(model: Model, state: State, process: int, r: str) -> int | None:
    """make_published_receive(). None: all are in use."""
    if not state["vacant", process]:
        return None
    slot, *rest = state["vacant", process]
    state["vacant", process] = tuple(rest)
    state["owner", process, slot] = r
    bounce_buffer.forget(model, state, process, slot)
    return int(slot)


@action
def post_library(model: Model, state: State, thread: int, r: str) -> Next:
    library.post(model.calls, state, r)
    check_matches(model, state, model.process(thread))
    return DONE


@local_if_alone
def publish_receive(model: Model, state: State, thread: int, r: str) -> Next:
    """PublishedReceive::post. Not if receives have been closed since it was counted: another may have slipped in."""
    process, comm = model.process(thread), model.calls.receives[r].comm
    if "published receives after a close" in model.faults:
        state["live", r] = True
        return DONE
    if state["publishing", process] is not None:
        return BLOCKED
    if not state["closed receives", process, comm]:
        state["publishing", process] = thread
        state["live", r] = True
    return DONE


# PublishedReceive::publish: the stores, in their order.


def _number(state: State, process: int, r: str) -> int:
    _, number, n = state["published_receive", r]
    return int(n + state["base", process, number])


@action
def set_word(model: Model, state: State, thread: int, r: str) -> Next:
    process, (slot, number, _) = model.process(thread), state["published_receive", r]
    if state["live", r]:
        state["word", process, slot] = (_number(state, process, r), number, FIRST)
        model.step(state, process, slot, "published", "receiver")
    return DONE


@action
def set_slots(model: Model, state: State, thread: int, r: str) -> Next:
    process, (slot, number, _) = model.process(thread), state["published_receive", r]
    if state["live", r]:
        slots = list(state["slots", process, number])
        slots[_number(state, process, r) % WINDOW] = slot
        state["slots", process, number] = tuple(slots)
    return DONE


@action
def set_n_posted(model: Model, state: State, thread: int, r: str) -> Next:
    """Of a receive that is not published, too. It never falls: the numbers of the next communicator are above it."""
    process, (slot, number, _) = model.process(thread), state["published_receive", r]
    if slot is None or state["live", r]:
        last = 0 if "last numbers fall" in model.faults else state["n_posted", process, number]
        state["n_posted", process, number] = max(last, _number(state, process, r))
    if slot is None:
        state["published_receive", r] = None
    if state["publishing", process] == thread:
        state["publishing", process] = None
    return DONE
