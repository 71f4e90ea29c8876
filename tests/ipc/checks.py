"""The properties that hold in every state: else a Violation says which one does not."""

from __future__ import annotations

import library
from actions.action import Action
from library import State, Violation
from model_state import N_SLOTS, Model
from programs import RECEIVES
from published_receives_table import FIRST


def check_matches(model: Model, state: State, process: int) -> None:
    """A FIN message matches the receive that its message has claimed, a packed message one that is not claimed."""
    for r, receive in model.calls.receives.items():
        if receive.process != process or receive.kind not in RECEIVES or state["done", r]:
            continue
        if isinstance(state["matched", r], tuple):
            _check_match(model, state, r, *state["matched", r])


def _check_match(model: Model, state: State, r: str, m: str, kind: str) -> None:
    claims = {one: state["claim", one] for one in model.calls.messages}
    process = model.calls.receives[r].process
    claimed = [one for one, claim in claims.items() if claim is not None and (claim[0], claim[3]) == (process, r)]
    if kind == "fin" and claimed != [m]:
        raise Violation(f"the fin {m} meets {r}, whose published_receive it has not claimed")
    if kind == "packed" and claimed:
        raise Violation(f"the packed message {m} meets {r}, whose published_receive is {claimed[0]}'s")


def check_buffer(model: Model, state: State, r: str, m: str) -> None:
    """A kernel writes into the buffer of a receive that is posted, or that the program does not have back yet."""
    if state["done", r] or state["matched", r] == "cancelled":
        raise Violation(f"{m} is written into the buffer of {r}, which is the program's")
    if r not in state["posted", model.calls.receives[r].process] and state["matched", r] is None:
        raise Violation(f"{m} is written into the buffer of {r}, which is not posted")


def check_bounce_buffer(state: State, r: str, m: str) -> None:
    """A kernel writes into the bounce buffer of a receive that is not complete: the memory may be another's."""
    if state["done", r]:
        raise Violation(f"{m} is packed into the bounce_buffer of {r}, which has been given back")


def check_bytes(model: Model, state: State, r: str, was_written: bool | None) -> None:
    """A receive that is complete has the bytes of its message, was cancelled and has none, or (None) has lost them."""
    matched = state["matched", r]
    if matched == "cancelled":
        if was_written:
            raise Violation(f"{r} is cancelled, and written")
        return
    m, kind = matched
    if was_written is None:
        if kind != "fin" or model.calls.messages[m].kind != "failing_late":
            raise Violation(f"{r} has lost the bytes of the {kind} {m}")
        return
    if was_written != (kind == "fin"):
        raise Violation(f"{r} is {'' if was_written else 'not '}written, and has matched the {kind} {m}")
    if was_written and state["bytes", r] != m:
        raise Violation(f"{r} has matched {m}, and has the bytes of {state['bytes', r]}")


def check_end(model: Model, state: State) -> None:
    """A state without successors: all threads have ended or wait as they would without the shim; nothing is left."""
    left = {thread: state["todo", thread][0] for thread in model.threads if state["todo", thread]}
    for thread, action in left.items():
        if not _would_wait(model, state, thread, action):
            raise Violation(f"deadlock: thread {thread} waits for ever in {action}")
    if left:
        return
    for process in range(model.calls.n_processes):
        words = [state["word", process, slot] for slot in range(N_SLOTS)]
        if any(word[2] != FIRST for word in words) or len(state["vacant", process]) != N_SLOTS:
            raise Violation(f"slots of process {process} are not vacant at the end: {words}")
        if state["unmatched", process] or state["pending", process]:
            raise Violation(f"sends of process {process} are pending at the end")


def _would_wait(model: Model, state: State, thread: int, action: Action) -> bool:
    """Without the shim, too."""
    if action[0] == "go_round":
        return any(_send_would_wait(model, state, m) for m in state["needed", thread])
    if action[0] in ("probe", "mprobe"):
        return library.would_block(model.calls, state, action[1])
    if action[0] != "wait_all":
        return False
    receives = [r for r in action[1] if library.would_block(model.calls, state, r)]
    return bool(receives) or any(_send_would_wait(model, state, m) for m in action[2])


def _send_would_wait(model: Model, state: State, m: str) -> bool:
    """A synchronous send, without a receive that would take it."""
    posted = [r for r in model.calls.receives if r in state["posted", model.calls.receives[r].process]]
    accepts = any(model.calls.accepts(r, m) for r in posted)
    return model.program.is_synchronous and state["matched", m] is None and not accepts
