"""Unmatched sends (request/unmatched_sends.cpp): they wait for their receives outside of the engine's queue."""

from __future__ import annotations

from actions import find_match
from actions.action import DONE, Next, action, local
from library import State
from model_state import Model


def holds_back(model: Model, state: State, m: str) -> bool:
    """An unmatched message of its tag is before it."""
    if "direct passes its match queue" in model.faults:
        return False
    return any(model.line_of(one) == model.line_of(m) for one in before(model, state, m))


def before(model: Model, state: State, m: str) -> tuple[str, ...]:
    """UnmatchedSends::before: the unmatched messages to its peer that are before it."""
    unmatched = state["unmatched", model.calls.messages[m].source]
    earlier = unmatched[: unmatched.index(m)] if m in unmatched else unmatched
    return tuple(one for one in earlier if model.line_of(one)[:2] == model.line_of(m)[:2])


def take(model: Model, state: State, process: int, comm: int, peer: int, before: str = "") -> None:
    """Early messages to one peer are packed, those before one of them or all. They join the queue."""
    if "packed passes early" in model.faults:
        return
    unmatched = state["unmatched", process]
    those = unmatched[: unmatched.index(before)] if before else unmatched
    taken = tuple(m for m in those if model.line_of(m)[:2] == (comm, peer))
    for m in taken:
        state["look", m] = "nothing"
    state["unmatched", process] = tuple(m for m in unmatched if m not in taken)
    state["pending", process] += taken


@local
def take_matched(model: Model, state: State, thread: int) -> Next:
    """All of them, in order."""
    return [tuple(("is_matched", m) for m in state["unmatched", model.process(thread)])]


@local
def is_matched(model: Model, state: State, thread: int, m: str) -> Next:
    if m not in state["unmatched", model.process(thread)]:
        return DONE
    return [(("is_over", m),)] if holds_back(model, state, m) else [(("look", m), ("is_over", m))]


def is_needed(model: Model, state: State, m: str) -> bool:
    """A call that ends only with this send: its match timeout lasts for ever here."""
    is_all = "all sends are needed" in model.faults and model.program.is_synchronous
    return is_all or any(m in state["needed", thread] for thread in model.threads)


def awaited(model: Model, state: State, thread: int) -> list[str]:
    """UnmatchedSends::are_others: those that hold this thread's call."""
    every = state["unmatched", model.process(thread)]
    if "calls wait for what others need" in model.faults:
        return list(every)
    others = [m for one in model.threads if one != thread for m in state["needed", one]]
    return [m for m in every if m not in others]


def sees_nothing(model: Model, state: State, m: str) -> bool:
    """A needed send that looks again finds what it has found: no receive, and no reason to be packed."""
    if not is_needed(model, state, m):
        return False
    return holds_back(model, state, m) or not find_match.sees_something(model, state, m)


@action
def is_over(model: Model, state: State, thread: int, m: str) -> Next:
    """The match timeout may end at any time, but that of a needed send."""
    if state["look", m] == "unmatched":
        return [()] if is_needed(model, state, m) else [(), (("time_out", m), ("join", m))]
    return [(("join", m),)]


@local
def time_out(model: Model, state: State, thread: int, m: str) -> Next:
    state["look", m] = "nothing"
    return DONE


@local
def join(model: Model, state: State, thread: int, m: str) -> Next:
    """It is unmatched no more; a packed one takes those before it along."""
    process = model.process(thread)
    if state["look", m] == "nothing":
        take(model, state, process, *model.line_of(m)[:2], before=m)
    state["unmatched", process] = tuple(one for one in state["unmatched", process] if one != m)
    state["pending", process] += (m,)
    return DONE
