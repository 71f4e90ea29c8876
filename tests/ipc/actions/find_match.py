"""A send looks for its published receive, and claims it (look() in ipc.cpp, find_match() in published_receives.cpp)."""

from __future__ import annotations

from actions import unmatched
from actions.action import DONE, Next, action, local
from library import State, Violation
from model_state import WINDOW, Model
from programs import ANY, BOUNCED


@local
def look(model: Model, state: State, thread: int, m: str) -> Next:
    """Where no communicator is freed, no match queue is used again: then it is found by one action."""
    tag = model.calls.messages[m].tag
    return [(("find", m, tag),)] if model.frees else [(("read_line", m),)]


def _find(model: Model, state: State, m: str) -> int | None:
    """Its own match queue, else that of all tags."""
    message = model.calls.messages[m]
    match_queues = range(model.n_match_queues[message.destination])
    for tag in (message.tag, ANY):
        key = (message.comm, message.source, tag)
        state["match queue of all", m] = tag == ANY
        if found := [number for number in match_queues if state["match_queue", message.destination, number] == key]:
            return found[0]
    return None


def sees_something(model: Model, state: State, m: str) -> bool:
    """Its receive has been posted, or none is awaited."""
    message, number = model.calls.messages[m], _find(model, dict(state), m)
    of_all = number is not None and state["match_queue", message.destination, number][2] == ANY
    if number is not None and not (of_all and not _is_next(model, state, m)):
        n = state["base", message.destination, number]
        n += state["sequence number of all" if of_all else "sequenced", m]
        if _n_posted(model, state, m, number) >= n:
            return True
    return message.destination == message.source or _is_not_awaited(model, state, m)


def _is_not_awaited(model: Model, state: State, m: str) -> bool:
    """The receiver probes, or has closed its receives, or has posted an undecided one (Matcher::tell_open)."""
    message = model.calls.messages[m]
    is_closed = message.comm in state["shut", message.destination] or _is_told(model, state, m)
    return (bool(state["probes", message.destination]) and "needed beside probes" not in model.faults) or is_closed


def _is_told(model: Model, state: State, m: str) -> bool:
    """For needed sends only: the hint has its bounds, and the others do not rely on it."""
    message = model.calls.messages[m]
    if not unmatched.is_needed(model, state, m) or "needed beside wildcards" in model.faults:
        return False
    told = [model.calls.receives[r] for r in state["undecided", message.destination, message.comm]]
    return any(one.tag in (ANY, message.tag) for one in told)


@action
def find(model: Model, state: State, thread: int, m: str, tag: int) -> Next:
    """Segment::find reads the communicators of the match queues."""
    comm, process = model.calls.messages[m].comm, model.calls.messages[m].destination
    match_queues = [
        number for number in range(model.n_match_queues[process]) if state["match_queue", process, number][0] == comm
    ]
    return [(("read_keys", m, tag, tuple(match_queues)),)]


@action
def read_keys(model: Model, state: State, thread: int, m: str, tag: int, match_queues: tuple[int, ...]) -> Next:
    """And then the rest of their keys."""
    message = model.calls.messages[m]
    state["match queue of all", m] = tag == ANY
    for number in match_queues:
        if state["match_queue", message.destination, number][1:] == (message.source, tag):
            return [(("read_base", m, number),)]
    return [(("judge", m, None, 0, 0) if tag == ANY else ("find", m, ANY),)]


@action
def read_base(model: Model, state: State, thread: int, m: str, number: int) -> Next:
    return [(("read_n_posted", m, number, state["base", model.calls.messages[m].destination, number]),)]


@action
def read_n_posted(model: Model, state: State, thread: int, m: str, number: int, base: int) -> Next:
    return [(("look_twice", m, number, base, _n_posted(model, state, m, number)),)]


def _n_posted(model: Model, state: State, m: str, number: int) -> int:
    return int(state["n_posted", model.calls.messages[m].destination, number])


@action
def look_twice(model: Model, state: State, thread: int, m: str, number: int, base: int, n_posted: int) -> Next:
    """A match queue that was used again has another communicator."""
    comm = state["match_queue", model.calls.messages[m].destination, number][0]
    is_same = comm == model.calls.messages[m].comm or "match queues are not looked at twice" in model.faults
    if is_same and "match queues are counted late" in model.faults:
        return [(("count_late", m, number, base),)]
    return [(("judge", m, number if is_same else None, base, n_posted),)]


@action
def count_late(model: Model, state: State, thread: int, m: str, number: int, base: int) -> Next:
    """A mistake."""
    return [(("judge", m, number, base, _n_posted(model, state, m, number)),)]


@action
def read_line(model: Model, state: State, thread: int, m: str) -> Next:
    """A match queue that appears later is seen when the sender looks again."""
    number = _find(model, state, m)
    return [(("judge", m, number, 0, 0 if number is None else _n_posted(model, state, m, number)),)]


@local
def judge(model: Model, state: State, thread: int, m: str, number: int | None, base: int, n_posted: int) -> Next:
    """The receive has been posted, or may come."""
    message = model.calls.messages[m]
    if number is not None and state["match queue of all", m] and not _is_next(model, state, m):
        state["look", m] = "unmatched"
        return DONE
    n = base + state["sequence number of all" if state["match queue of all", m] else "sequenced", m]
    if number is not None and n_posted >= n:
        return [(("read_slot", m, number, n),)]
    if message.destination == message.source:
        state["look", m] = "nothing"
        return DONE
    return [(("read_probes", m),)]


def _is_next(model: Model, state: State, m: str) -> bool:
    return not unmatched.before(model, state, m) or "all tags pass early" in model.faults


@action
def read_probes(model: Model, state: State, thread: int, m: str) -> Next:
    """UnmatchedSends::takes_wait, and match timeout()."""
    is_ignored = "needed beside probes" in model.faults and unmatched.is_needed(model, state, m)
    if state["probes", model.calls.messages[m].destination] and not is_ignored:
        state["look", m] = "nothing"
        return DONE
    return [(("read_closed", m),)]


@action
def read_closed(model: Model, state: State, thread: int, m: str) -> Next:
    """Segment::is_closed."""
    message = model.calls.messages[m]
    is_closed = message.comm in state["shut", message.destination] or _is_told(model, state, m)
    state["look", m] = "nothing" if is_closed else "unmatched"
    return DONE


@action
def read_slot(model: Model, state: State, thread: int, m: str, number: int, n: int) -> Next:
    return [(("claim", m, number, n, state["slots", model.calls.messages[m].destination, number][n % WINDOW]),)]


@action
def claim(model: Model, state: State, thread: int, m: str, number: int, n: int, slot: int) -> Next:
    """By compare-and-swap of the word."""
    process = model.calls.messages[m].destination
    if not _is_published(model, state["word", process, slot], n, number):
        state["look", m] = "nothing"
        return DONE
    if "claims by a store" in model.faults:
        return [(("store_claim", m, number, n, slot),)]
    return _claimed(model, state, m, slot)


def _is_published(model: Model, word: tuple[int, int, str], n: int, number: int) -> bool:
    is_line = "claims compare no match queue" in model.faults or word[1] == number
    is_number = "claims compare no number" in model.faults or word[0] == n
    return is_line and is_number and word[2] == "published"


@action
def store_claim(model: Model, state: State, thread: int, m: str, number: int, n: int, slot: int) -> Next:
    """A mistake."""
    state["word", model.calls.messages[m].destination, slot] = (n, number, "published")
    return _claimed(model, state, m, slot)


def _claimed(model: Model, state: State, m: str, slot: int) -> Next:
    """write_to(): a put is made, or the layouts do not compose."""
    message = model.calls.messages[m]
    process = message.destination
    model.step(state, process, slot, "claimed", "sender")
    state["look", m] = "claimed"
    state["claim", m] = (process, slot, state["word", process, slot][:2], state["owner", process, slot])
    if message.kind in BOUNCED:
        return [(("choose_bounce_buffer", m),)]
    return [(("end_claim", m, False),)] if message.kind in ("misfit", "lost") else DONE


@action
def end_claim(model: Model, state: State, thread: int, m: str, is_written: bool) -> Next:
    """Claim::end: the bytes are written, or will come packed."""
    process, slot, word, _ = state["claim", m]
    if state["word", process, slot][:2] != word:
        raise Violation(f"the slot that {m} has claimed holds another published_receive")
    model.step(state, process, slot, "written" if is_written else "declined", "sender")
    if not is_written:
        state["claim", m], state["look", m] = None, "nothing"
    return DONE
