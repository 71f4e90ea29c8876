"""The calls of the program (interpose/), as the actions that they are made of."""

from __future__ import annotations

import library
from actions import find_match, match_queues, receives, unmatched  # noqa: F401  (their actions)
from actions.action import BLOCKED, DONE, Action, Next, action, local, local_if_alone
from actions.completion import waiting
from actions.matcher import begin_undecided, count_send, decide, is_another_receiver
from actions.pending_sends import posting
from actions.withdraw import cancelling
from library import State
from model_state import Model
from programs import RECEIVES, SENDS, Op


@local
def call(model: Model, state: State, thread: int, of: int, place: int) -> Next:
    op = model.program.threads[of].ops[place]
    name = model.calls.names[of, place]
    if op.kind in SENDS:
        return [_sending(op, name)]
    if op.kind in RECEIVES:
        return [(("note_receive", name),)]
    return [(*_other_call(model, state, thread, place), ("progress",))]  # tended


def _sending(op: Op, name: str) -> tuple[Action, ...]:
    if op.kind != "host_send":
        return posting(name)
    return (("note_untouched", name), ("go_before", op.comm, op.peer), ("send_packed", name))


def _other_call(model: Model, state: State, thread: int, place: int) -> tuple[Action, ...]:
    op = model.program.threads[thread].ops[place]
    name = model.calls.names[thread, place]
    match op.kind:
        case "wait":
            receives = tuple(op.names) or _own_receives(model, state, thread, place)
            return waiting(receives, _own_sends(model, thread, place))
        case "cancel":
            return cancelling(model, op.names)
        case "probe":
            return (("note_probe",), ("flush",), ("probe", name))
        case "iprobe":
            return (("note_probe",), ("progress",))
        case "mprobe":
            return _probing_matched(model, op, name)
        case "drop":
            return (("flush",), ("adopt", op.names))
        case "free":
            return (("flush",), ("end_match_queues", op.comm), ("end_closed", op.comm))
    return (("flush",),)


def _probing_matched(model: Model, op: Op, name: str) -> tuple[Action, ...]:
    """It is noted before another thread's receive is counted past the message."""
    noting, probing = ("note_matched_probe", name), (("note_probe",), ("flush",), ("mprobe", name))
    if "matched probes close late" in model.faults:
        return (*probing, noting, ("decide_probe", name))
    return (noting, *probing, ("decide_probe", name))


def _own_receives(model: Model, state: State, thread: int, place: int) -> tuple[str, ...]:
    """Those that the program has posted and neither waits for by name nor has completed."""
    names = dict.fromkeys(model.calls.names[thread, k] for k in range(place))
    posted = [r for r in names if r in model.calls.receives and model.calls.receives[r].kind in RECEIVES]
    own = [r for r in posted if model.calls.receives[r].thread == thread]
    return tuple(r for r in own if r not in model.named and not state["done", r])


def _own_sends(model: Model, thread: int, place: int) -> tuple[str, ...]:
    return tuple(m for k in range(place) if (m := model.calls.names[thread, k]) in model.calls.messages)


@local
def end(model: Model, state: State, thread: int, of: int) -> Next:
    """The program waits for all of its requests; MPI_Finalize."""
    place = len(model.program.threads[of].ops)
    waits = waiting(_own_receives(model, state, thread, place), _own_sends(model, thread, place))
    return [(*waits, ("flush",), ("finalize",))]


@local_if_alone
def note_untouched(model: Model, state: State, thread: int, m: str) -> Next:
    """A send of host memory. A second thread's waits for claimed ones: settle()."""
    process, comm = model.process(thread), model.calls.messages[m].comm
    count_send(model, state, thread, m)
    settles = state["closed sends", process, comm] and "no settling" not in model.faults
    return [(("settle",),) if settles else ()]


@action
def note_probe(model: Model, state: State, thread: int) -> Next:
    """OwnSegment::tell_of_probes."""
    state["probes", model.process(thread)] = True
    return DONE


@action
def probe(model: Model, state: State, thread: int, name: str) -> Next:
    return DONE if library.look(model.calls, state, name) else BLOCKED


@local_if_alone
def note_matched_probe(model: Model, state: State, thread: int, name: str) -> Next:
    """Matcher::begin_undecided, which a second thread's closes."""
    comm = model.calls.receives[name].comm
    if is_another_receiver(model, state, thread, comm):
        return [(("close_receives", comm),)]
    begin_undecided(model, state, thread, name)
    return DONE


@action
def mprobe(model: Model, state: State, thread: int, name: str) -> Next:
    return DONE if library.take_matched(model.calls, state, name) else BLOCKED


@local_if_alone
def decide_probe(model: Model, state: State, thread: int, name: str) -> Next:
    decide(model, state, name)
    return DONE
