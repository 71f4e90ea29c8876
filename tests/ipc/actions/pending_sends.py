"""Pending sends (request/pending_sends.cpp), which start in the order of the program's calls; freed receives."""

from __future__ import annotations

import library
from actions import bounce_buffer, unmatched
from actions.action import BLOCKED, DONE, Action, Next, action, local, local_if_alone
from actions.matcher import count_send
from checks import check_buffer
from library import State
from model_state import Model
from programs import BOUNCED

# ---- the lock


@local_if_alone
def lock(model: Model, state: State, thread: int) -> Next:
    process = model.process(thread)
    if state["lock", process] is not None:
        return BLOCKED
    state["lock", process] = thread
    return DONE


@local
def unlock(model: Model, state: State, thread: int) -> Next:
    """And count_work()."""
    process = model.process(thread)
    state["lock", process] = None
    state["has work", process] = any(state[key, process] for key in ("unmatched", "pending", "orphans"))
    return DONE


# ---- PendingSends::post


def posting(m: str) -> tuple[Action, ...]:
    return (("lock",), ("note_send", m))


@local_if_alone
def note_send(model: Model, state: State, thread: int, m: str) -> Next:
    count_send(model, state, thread, m)
    state["look", m] = "nothing" if state["sequenced", m] == 0 else "unmatched"
    if state["look", m] == "nothing" or unmatched.holds_back(model, state, m):
        return [(("queue_or_leave", m),)]
    return [(("look", m), ("queue_or_leave", m))]


@local
def queue_or_leave(model: Model, state: State, thread: int, m: str) -> Next:
    """An unmatched one is left (leave_unmatched); a packed one takes those before it along (pack_unmatched)."""
    process = model.process(thread)
    if state["look", m] == "unmatched":
        state["unmatched", process] += (m,)
        return [(("unlock",),)]
    if state["look", m] == "nothing":
        unmatched.take(model, state, process, *model.line_of(m)[:2])
    state["pending", process] += (m,)
    return [(("start_or_leave",),)]


@action
def start_or_leave(model: Model, state: State, thread: int) -> Next:
    return [(("start_packed",), ("unlock",)), (("unlock",),)]


# ---- starts


@local
def start_packed(model: Model, state: State, thread: int) -> Next:
    """start_packed(true): the pending sends in order; the FIN messages of direct ones go while their kernels run."""
    process = model.process(thread)
    if not (pending := state["pending", process]):
        return [(("end_early_fins",),)]
    return [(("send_early_fin",) if _may_send_fin_early(model, state, pending[0]) else ("start",), ("start_packed",))]


def _take_first(model: Model, state: State, thread: int) -> tuple[int, str]:
    process = model.process(thread)
    m, *rest = state["pending", process]
    state["pending", process] = tuple(rest)
    return process, m


def _may_send_fin_early(model: Model, state: State, m: str) -> bool:
    return state["claim", m] is not None and model.calls.messages[m].kind in ("send", "failing_late", "lost_fin")


@local
def send_early_fin(model: Model, state: State, thread: int) -> Next:
    process, m = _take_first(model, state, thread)
    if model.calls.messages[m].kind == "lost_fin":
        return [(("write", m), ("lose_fin", m))]
    state["fin_sent", process] += (m,)
    return [(("send_fin", m),)]


@local
def end_early_fins(model: Model, state: State, thread: int) -> Next:
    """end_early_fins_to_others()."""
    process = model.process(thread)
    fin_sent, state["fin_sent", process] = state["fin_sent", process], ()
    return [tuple(step for m in fin_sent for step in _ending(model, m))]


def _ending(model: Model, m: str) -> tuple[Action, ...]:
    if model.calls.messages[m].kind == "send":
        return (("write", m), ("end_claim", m, True))
    if "packed behind a FIN message" in model.faults:
        return (("write", m), ("end_claim", m, False), ("send_packed", m))
    return (("write", m), ("lose_bytes", m))


@action
def start_some(model: Model, state: State, thread: int) -> Next:
    """start_packed(false): up to the first whose kernel has not finished."""
    return [(), (("start",), ("start_some",))] if state["pending", model.process(thread)] else DONE


@local
def start(model: Model, state: State, thread: int) -> Next:
    """PendingSends::start, or deliver(); a kernel that fails writes something; its bytes come packed (move_now())."""
    _, m = _take_first(model, state, thread)
    if model.calls.messages[m].kind == "lost":
        return [(("lose", m),)]
    if state["claim", m] is None:
        return [(("send_packed", m),)]
    if model.calls.messages[m].kind in BOUNCED:
        return [bounce_buffer.sending(model, state, m)]
    if model.calls.messages[m].kind in ("failing", "failing_late"):
        hasty = (("send_fin", m),) if "FIN message before the bytes" in model.faults else ()
        return [(*hasty, ("write", m), ("end_claim", m, False), ("send_packed", m))]
    is_sent = model.calls.messages[m].kind != "lost_fin"
    return [(("write", m), ("end_claim", m, True), ("send_fin", m) if is_sent else ("lose_fin", m))]


@action
def write(model: Model, state: State, thread: int, m: str) -> Next:
    r = state["claim", m][3]
    check_buffer(model, state, r, m)
    state["bytes", r] = m
    return DONE


@action
def send_fin(model: Model, state: State, thread: int, m: str) -> Next:
    library.send(model.calls, state, m, "fin")
    return DONE


@action
def send_packed(model: Model, state: State, thread: int, m: str) -> Next:
    """Or, of host memory, untouched."""
    library.send(model.calls, state, m, "packed")
    return DONE


@action
def lose_bytes(model: Model, state: State, thread: int, m: str) -> Next:
    """Claim::lose."""
    process, slot, _, _ = state["claim", m]
    model.step(state, process, slot, "lost", "sender")
    return DONE


@action
def lose(model: Model, state: State, thread: int, m: str) -> Next:
    """The start of a packed message fails: end_order()."""
    state["matched", m] = "lost"
    return [(("close_matcher", model.calls.messages[m].comm), ("end_order", m))]


@action
def lose_fin(model: Model, state: State, thread: int, m: str) -> Next:
    """The library does not take it: Claim::take_back, or ~Direct of an early-FIN one."""
    process, slot, word, _ = state["claim", m]
    is_written = state["word", process, slot] == (*word, "written")
    if state["word", process, slot] == (*word, "claimed") or (
        is_written and "lost FIN messages count" not in model.faults
    ):
        model.step(state, process, slot, "declined", "sender")
    state["claim", m] = None
    return [(("lose", m),)]


@local
def end_order(model: Model, state: State, thread: int, lost: str) -> Next:
    """Messages behind a lost one match other receives than those that they have claimed."""
    process, (comm, peer, _) = model.process(thread), model.line_of(lost)
    claimed = [m for m in state["pending", process] if state["claim", m] is not None and model.line_of(m)[0] == comm]
    if "early behind a lost one" not in model.faults:
        unmatched.take(model, state, process, comm, peer)
    return [tuple(("end_claim", m, False) for m in claimed)]


# ---- calls start pending sends


@local_if_alone
def flush(model: Model, state: State, thread: int) -> Next:
    return [(("start_pending",),)] if state["has work", model.process(thread)] else DONE


@local
def note_needed(model: Model, state: State, thread: int, sends: tuple[str, ...]) -> Next:
    """flush_needed(): the call ends only with these sends, as the library's rendezvous does."""
    if model.program.is_synchronous:
        state["needed", thread] = sends
    return DONE


@local
def settle(model: Model, state: State, thread: int) -> Next:
    """PendingSends::settle: behind the call of another thread that is queueing its message."""
    return [(("start_pending",),)]


@local
def start_pending(model: Model, state: State, thread: int) -> Next:
    """start_pending(true)."""
    return [(("lock",), ("take_matched",), ("start_packed",), ("tend_orphans",), ("unlock",), ("start_again",))]


@local
def start_again(model: Model, state: State, thread: int) -> Next:
    """What other threads need does not hold it."""
    left = unmatched.awaited(model, state, thread)
    if not left:
        state["needed", thread] = ()
        return DONE
    is_needed = any(unmatched.is_needed(model, state, m) for m in left)
    return [(("go_round",),) if is_needed else (("start_pending",),)]


@action
def go_round(model: Model, state: State, thread: int) -> Next:
    """Not as long as the sends would find what they have found."""
    left = unmatched.awaited(model, state, thread)
    is_in_vain = all(unmatched.sees_nothing(model, state, m) for m in left)
    return BLOCKED if left and is_in_vain else [(("start_pending",),)]


@local_if_alone
def progress(model: Model, state: State, thread: int) -> Next:
    """start_pending(false)."""
    if not state["has work", model.process(thread)]:
        return DONE
    return [(("lock",), ("take_matched",), ("start_some",), ("tend_orphans",), ("unlock",))]


@local_if_alone
def go_before(model: Model, state: State, thread: int, comm: int, peer: int) -> Next:
    """start_before()."""
    if not state["has work", model.process(thread)]:
        return DONE
    return [(("lock",), ("pack_unmatched", comm, peer), ("start_packed",), ("unlock",))]


@local
def pack_unmatched(model: Model, state: State, thread: int, comm: int, peer: int) -> Next:
    unmatched.take(model, state, model.process(thread), comm, peer)
    return DONE


# ---- freed receives


@action
def adopt(model: Model, state: State, thread: int, r: str) -> Next:
    state["orphans", model.process(thread)] += (r,)
    state["has work", model.process(thread)] = True
    return DONE


@local_if_alone
def tend_orphans(model: Model, state: State, thread: int) -> Next:
    """Those that are complete."""
    process = model.process(thread)
    complete = [r for r in state["orphans", process] if state["matched", r] is not None]
    state["orphans", process] = tuple(r for r in state["orphans", process] if r not in complete)
    return [tuple(("end_it", r) for r in complete)]
