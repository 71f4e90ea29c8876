"""Bounce buffers (transport/ipc/bounce_buffer.hpp): a message in two chunks, unpacked as they arrive."""

from __future__ import annotations

from actions.action import DONE, Action, Next, action, local
from checks import check_bounce_buffer
from library import State
from model_state import NO_CHUNKS, Model

N_CHUNKS = len(NO_CHUNKS)


def forget(model: Model, state: State, process: int, slot: int) -> None:
    """make_published_receive(): a slot that is used again says nothing of the published receive before."""
    is_bounced, arrived = state["bounced", process, slot]
    state["bounced", process, slot] = (
        is_bounced and "bounce buffer not forgotten" in model.faults,
        arrived if "arrivals not forgotten" in model.faults else 0,
    )


@action
def choose_bounce_buffer(model: Model, state: State, thread: int, m: str) -> Next:
    """put_to_bounce_buffer(), behind the claim."""
    process, slot, _, _ = state["claim", m]
    state["bounced", process, slot] = (True, state["bounced", process, slot][1])
    return DONE


def sending(model: Model, state: State, m: str) -> tuple[Action, ...]:
    """queue_chunks() and tell_arrived(); of a failing one the first chunk."""
    r = state["claim", m][3]
    chunks = [(("pack_chunk", m, r, k), ("tell_arrived", m, k + 1)) for k in range(N_CHUNKS)]
    if "arrivals before the bytes" in model.faults:
        chunks = [(tell, pack) for pack, tell in chunks]
    if model.calls.messages[m].kind == "bounced":
        return (*(step for chunk in chunks for step in chunk), ("end_claim", m, True), ("send_fin", m))
    ending = (("end_claim", m, False), ("send_packed", m))
    if "claims end under chunks" in model.faults:
        return (*chunks[0], *ending, chunks[1][0])
    return (*chunks[0], *ending)


@action
def pack_chunk(model: Model, state: State, thread: int, m: str, r: str, k: int) -> Next:
    check_bounce_buffer(state, r, m)
    state["packed", r] = _with(state["packed", r], k, m)
    return DONE


@action
def tell_arrived(model: Model, state: State, thread: int, m: str, arrived: int) -> Next:
    process, slot, _, _ = state["claim", m]
    state["bounced", process, slot] = (True, arrived)
    return DONE


@local
def unpack_arriving(model: Model, state: State, thread: int, r: str) -> Next:
    """Of the code's loop one look, at any time: what it unpacks may come at once or later."""
    return [(("unpack_arrived", r),)] if model.bounces and state["live", r] else DONE


@action
def unpack_arrived(model: Model, state: State, thread: int, r: str) -> Next:
    process, slot = model.calls.receives[r].process, state["published_receive", r][0]
    is_bounced, arrived = state["bounced", process, slot]
    if state["word", process, slot][2] in ("published", "claimed") and is_bounced:
        _unpack(state, r, arrived)
    return DONE


def _unpack(state: State, r: str, arrived: int) -> None:
    """BounceBuffer::unpack: chunks that are unpacked already are not again."""
    for k in range(arrived):
        if state["unpacked", r][k] == "":
            state["unpacked", r] = _with(state["unpacked", r], k, state["packed", r][k] or "nothing")


def unpack_rest(model: Model, state: State, process: int, slot: int, r: str) -> None:
    """A written published receive, whose bytes may be in the bounce buffer (how_it_came, BounceBuffer::queue_rest)."""
    if not state["bounced", process, slot][0]:
        return
    _unpack(state, r, N_CHUNKS)
    chunks = set(state["unpacked", r])
    state["bytes", r] = chunks.pop() if len(chunks) == 1 else f"several: {sorted(chunks)}"


def _with(chunks: tuple[str, ...], k: int, m: str) -> tuple[str, ...]:
    return (*chunks[:k], m, *chunks[k + 1 :])
