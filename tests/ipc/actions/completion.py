"""The end of receives (request/completion.cpp, finish.cpp) and of published ones (PublishedReceive::end_it)."""

from __future__ import annotations

from actions.action import BLOCKED, DONE, Action, Next, action, local, local_if_alone
from actions.bounce_buffer import unpack_rest
from actions.matcher import decide
from checks import check_bytes
from library import State
from model_state import Model
from published_receives_table import FIRST


def waiting(receives: tuple[str, ...], sends: tuple[str, ...]) -> tuple[Action, ...]:
    """MPI_Waitall."""
    arriving, ending = ([(step, r) for r in receives] for step in ("unpack_arriving", "end_it"))
    return (("note_needed", sends), ("flush",), ("take", receives), *arriving, ("wait_all", receives, sends), *ending)


@local_if_alone
def take(model: Model, state: State, thread: int, receives: tuple[str, ...]) -> Next:
    """The call takes the messages out of ManagedRequests until they are complete."""
    for r in receives:
        state["taken", r] = True
    return DONE


@action
def wait_all(model: Model, state: State, thread: int, receives: tuple[str, ...], sends: tuple[str, ...]) -> Next:
    """The library's call."""
    is_waiting = any(state["matched", r] is None for r in receives)
    if model.program.is_synchronous:
        is_waiting = is_waiting or any(state["matched", m] is None and state["claim", m] is None for m in sends)
    return BLOCKED if is_waiting else DONE


@local
def end_it(model: Model, state: State, thread: int, r: str) -> Next:
    """PublishedReceive::end_it, and unpacking."""
    return [(("revoke_own", r), ("vacate", r)) if state["live", r] else (("complete", r),)]


@action
def revoke_own(model: Model, state: State, thread: int, r: str) -> Next:
    process, slot = model.calls.receives[r].process, state["published_receive", r][0]
    if state["word", process, slot][2] == "published":
        model.step(state, process, slot, "revoked", "receiver")
    return DONE


@action
def vacate(model: Model, state: State, thread: int, r: str) -> Next:
    """A sender that has claimed it decides first (wait_for_claim). The bytes of a lost one are an error."""
    process, slot = model.calls.receives[r].process, state["published_receive", r][0]
    word = state["word", process, slot][2]
    if word == "claimed":
        return (
            _complete_as(model, state, process, r, True)
            if "FIN messages are awaited alone" in model.faults
            else BLOCKED
        )
    model.step(state, process, slot, FIRST, "receiver")
    if word == "written":
        unpack_rest(model, state, process, slot, r)
    return _complete_as(model, state, process, r, None if word == "lost" else word == "written")


@local
def complete(model: Model, state: State, thread: int, r: str) -> Next:
    return _complete_as(model, state, model.calls.receives[r].process, r, False)


def _complete_as(model: Model, state: State, process: int, r: str, was_written: bool | None) -> Next:
    """The program has the receive back; its slot is given back. None: with an error."""
    if state["published_receive", r] is not None:
        slot = state["published_receive", r][0]
        state["vacant", process] = (slot, *state["vacant", process])
        state["owner", process, slot], state["published_receive", r] = "", None
    state["done", r], state["live", r], state["taken", r] = True, False, False
    decide(model, state, r)
    check_bytes(model, state, r, was_written)
    if state["matched", r] != "cancelled":
        m, _ = state["matched", r]
        state["bytes", r], state["claim", m] = m, None
    return DONE


@local_if_alone
def finalize(model: Model, state: State, thread: int) -> Next:
    """The code leaves freed receives to the library's MPI_Finalize. Here they end first: their bytes are checked."""
    orphans = state["orphans", model.process(thread)]
    state["orphans", model.process(thread)] = ()
    return [(("wait_all", orphans, ()), *(("end_it", r) for r in orphans))]
