"""MPI_Cancel of a receive (request/completion.cpp): the later ones of its match queue are revoked, too.

If a later one, or its own, is claimed, its message has been sent: the call does nothing.
"""

from __future__ import annotations

import library
from actions.action import BLOCKED, DONE, Action, Next, action, local, local_if_alone
from actions.matcher import begin_undecided, is_another_receiver
from library import State
from model_state import Model


def cancelling(model: Model, r: str) -> tuple[Action, ...]:
    return (("note_cancel", r), ("revoke_from", r), ("judge_cancel", r))


@local_if_alone
def note_cancel(model: Model, state: State, thread: int, r: str) -> Next:
    """One of another thread closes the receives: this one may be counting a receive."""
    comm = model.calls.receives[r].comm
    if is_another_receiver(model, state, thread, comm) and "open after a second thread's cancel" not in model.faults:
        return [(("close_receives", comm),)]
    return DONE


@local_if_alone
def revoke_from(model: Model, state: State, thread: int, r: str) -> Next:
    """PublishedReceive::revoke_from, with the lock of published published receives."""
    process = model.process(thread)
    if state["publishing", process] is not None:
        return BLOCKED
    state["publishing", process] = thread
    state["is claimed", thread] = False
    if state["done", r]:
        return DONE
    return [tuple(("revoke", one) for one in _later(model, state, r))]


def _later(model: Model, state: State, r: str) -> list[str]:
    """The receives of its match queue that were posted behind it, and itself."""
    receives, order = model.calls.receives, state["published receive order", r]
    its = receives[r][:4]
    later = [
        one
        for one, other in receives.items()
        if other[:4] == its and state["published receive order", one] >= order > 0
    ]
    if "cancel leaves its own published receive" in model.faults:
        later = [one for one in later if one != r]
    return [r] if "cancel leaves later published receives" in model.faults else later


@action
def revoke(model: Model, state: State, thread: int, r: str) -> Next:
    """PublishedReceive::revoke."""
    if not state["live", r]:
        return DONE
    process, slot = model.calls.receives[r].process, state["published_receive", r][0]
    word = state["word", process, slot][2]
    if word == "published":
        model.step(state, process, slot, "revoked", "receiver")
    elif word != "revoked":
        state["is claimed", thread] = True
    return DONE


@local
def judge_cancel(model: Model, state: State, thread: int, r: str) -> Next:
    """A receive that the library may cancel is undecided until it is complete."""
    state["publishing", model.process(thread)] = None
    if state["done", r] or (state["is claimed", thread] and "cancel goes on behind a claim" not in model.faults):
        return DONE
    is_counted, comm = state["published receive order", r] > 0, model.calls.receives[r].comm
    if is_counted and not _is_noted(model, state, thread, r, comm):
        begin_undecided(model, state, thread, r)
    return [(("cancel_library", r),)]


def _is_noted(model: Model, state: State, thread: int, r: str, comm: int) -> bool:
    return (
        r in state["undecided", model.process(thread), comm]
        or "published receives beside a pending cancel" in model.faults
    )


@action
def cancel_library(model: Model, state: State, thread: int, r: str) -> Next:
    library.cancel(model.calls, state, r)
    return DONE
