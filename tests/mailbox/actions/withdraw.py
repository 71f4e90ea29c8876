"""MPI_Cancel (message/completion.cpp, withdraw.cpp): the order of what is left is not known, so no offer stays."""

from __future__ import annotations

import library
from actions.action import BLOCKED, DONE, Action, Next, action, local_if_alone
from library import State
from model_state import Model


def cancelling(model: Model, r: str) -> tuple[Action, ...]:
    closing: tuple[Action, ...] = () if "cancel closes nothing" in model.faults else (("close_all_meetings",),)
    withdrawing: tuple[Action, ...] = (("lock",), ("revoke_all",), ("unlock",), ("await_met",))
    if "cancel withdraws nothing" in model.faults:
        withdrawing = ()
    return (("flush",), *closing, *withdrawing, ("cancel_library", r))


@local_if_alone
def revoke_all(model: Model, state: State, thread: int) -> Next:
    """Offer::revoke_all."""
    process = model.process(thread)
    if state["publishing", process] is not None:
        return BLOCKED
    live = [r for r, receive in model.calls.receives.items() if receive.process == process and state["live", r]]
    if "cancel withdraws managed alone" in model.faults:
        live = [r for r in live if not state["taken", r] and r not in state["orphans", process]]
    return [tuple(("revoke", r) for r in live)]


@action
def revoke(model: Model, state: State, thread: int, r: str) -> Next:
    """Offer::revoke: one that is claimed, or was, is awaited."""
    if not state["live", r]:
        return DONE
    process, slot = model.calls.receives[r].process, state["offer", r][0]
    word = state["word", process, slot][2]
    if word == "offered":
        model.step(state, process, slot, "revoked", "receiver")
    elif word != "revoked" or "cancel awaits revoked" in model.faults:
        state["await", thread] += (r,)
    return DONE


@action
def await_met(model: Model, state: State, thread: int) -> Next:
    """The messages of claimed offers arrive first."""
    is_waiting = any(state["matched", r] is None for r in state["await", thread])
    if is_waiting and "cancel does not await" not in model.faults:
        return BLOCKED
    state["await", thread] = ()
    return DONE


@action
def cancel_library(model: Model, state: State, thread: int, r: str) -> Next:
    library.cancel(model.calls, state, r)
    return DONE
