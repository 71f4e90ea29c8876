"""MPI_Cancel (message/completion.cpp, withdraw.cpp): the order of what is left is not known, so no offer stays."""

from __future__ import annotations

import library
from actions.action import BLOCKED, DONE, Action, Next, action, local, local_if_alone
from library import State
from model_state import Model


def cancelling(model: Model, r: str) -> tuple[Action, ...]:
    closing: tuple[Action, ...] = () if "cancel closes nothing" in model.faults else (("close_all_meetings",),)
    withdrawing = () if "cancel withdraws nothing" in model.faults else (("revoke_all",),)
    return (*closing, ("settle",), *withdrawing, ("cancel_library", r))


@local_if_alone
def revoke_all(model: Model, state: State, thread: int) -> Next:
    """Offer::revoke_all, with the lock of published offers."""
    process = model.process(thread)
    if state["publishing", process] is not None:
        return BLOCKED
    state["publishing", process] = thread
    live = [r for r, receive in model.calls.receives.items() if receive.process == process and state["live", r]]
    if "cancel withdraws managed alone" in model.faults:
        live = [r for r in live if not state["taken", r] and r not in state["orphans", process]]
    return [(*(("revoke", r) for r in live), ("await_all",))]


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


@local
def await_all(model: Model, state: State, thread: int) -> Next:
    """Engine::withdraw_offers: the messages of claimed offers arrive first."""
    state["publishing", model.process(thread)] = None
    awaited, state["await", thread] = state["await", thread], ()
    return [() if "cancel does not await" in model.faults else tuple(("await_met", r) for r in awaited)]


@action
def await_met(model: Model, state: State, thread: int, r: str) -> Next:
    """Engine::is_met: a receive that another call has taken is met when that call says so."""
    process = model.process(thread)
    if state["done", r]:
        return DONE
    if state["lock", process] is not None or state["taken", r] or state["matched", r] is None:
        return BLOCKED
    is_freed = r in state["orphans", process]
    return [(("lock",), ("tend_orphans",), ("unlock",)) if is_freed else ()]


@action
def cancel_library(model: Model, state: State, thread: int, r: str) -> Next:
    library.cancel(model.calls, state, r)
    return DONE
