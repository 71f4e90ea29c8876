"""A model of a timed channel: the steps of src/pack/exchange_kernel.cuh on the words of both ends.

src/pack/exchange_params.hpp describes the protocol. The sender has several blocks. Each step reads or changes one word.
A process may end at each step: its kernels end with it, and the host of the other end sets the loss that the kernels
there read. `violations` searches every order of the steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

WITHDRAWN = 1 << 60
N_BLOCKS = 2


@dataclass(frozen=True)
class Rules:
    """Who has set TEMPI_STREAM_TIMEOUT, how many exchanges both queue, who may end, and mistakes of the protocol."""

    sender_times_out: bool = True
    receiver_times_out: bool = True
    n_exchanges: int = 2
    may_end: tuple[str, ...] = ()  # of "sender" and "receiver": one of them
    mistake: str = ""


@dataclass(frozen=True)
class State:
    # words of the send
    ready: int = 0
    decided: int = 0
    send_broken: bool = False
    n_written: int = 0
    # words of the receive
    filled: int = 0
    receive_broken: bool = False
    # kernels
    sender: int = 0  # exchanges that have ended
    receiver: int = 0
    blocks: tuple[str, ...] = ("idle",) * N_BLOCKS
    receiving: str = "idle"
    # processes
    ended: str = ""
    is_loss_known: bool = False  # to the kernels of the other process
    error: str = ""


def _with(state: State, block: int, name: str, **words: object) -> State:
    blocks = (*state.blocks[:block], name, *state.blocks[block + 1 :])
    return replace(state, blocks=blocks, **words)  # type: ignore[arg-type]


def _block_steps(state: State, i: int, rules: Rules) -> Iterator[State]:
    count, at = state.sender, state.blocks[i]
    if at == "waits":
        if state.send_broken:
            yield _with(state, i, "over")
            return
        if state.is_loss_known and rules.mistake != "ignores the loss":
            yield _with(state, i, "over", send_broken=True)
        if state.ready > count:
            yield _with(state, i, "writes" if rules.mistake == "does not decide" else "is ready")
        elif rules.sender_times_out:
            yield _with(state, i, "is late")
    elif at == "is ready":
        if state.decided in (count, count + 1):
            yield _with(state, i, "writes", decided=count + 1)
        else:
            yield _with(state, i, "breaks")
    elif at == "is late":
        if state.decided == count + 1 and rules.mistake != "each block decides":
            yield _with(state, i, "waits")
        else:
            yield _with(state, i, "tells", decided=WITHDRAWN)
    elif at == "tells":
        yield _with(state, i, "breaks", filled=state.filled if rules.mistake == "does not tell" else WITHDRAWN)
    elif at == "breaks":
        yield _with(state, i, "over", send_broken=True)
    elif at == "writes":
        in_time = state.ended == "receiver" or (state.receiver == count and state.receiving in ("waits", "is late"))
        error = "" if in_time else "a write into a buffer that the program has"
        yield _with(state, i, "written", n_written=state.n_written + 1, error=error)
    elif at == "written":
        is_last = state.n_written == N_BLOCKS and "writes" not in state.blocks
        words = {"filled": count + 1, "n_written": 0} if is_last else {}
        yield _with(state, i, "over", **words)


def _receiver_steps(state: State, rules: Rules) -> Iterator[State]:
    count, at = state.receiver, state.receiving
    if at == "idle" and count < rules.n_exchanges:
        yield replace(state, receiving="waits", ready=count + 1)
    elif at == "waits":
        if state.filled > count:
            yield replace(state, receiving="ends", receive_broken=state.receive_broken or state.filled == WITHDRAWN)
        elif state.receive_broken:
            yield replace(state, receiving="ends")
        elif state.is_loss_known and rules.mistake != "ignores the loss":
            yield replace(state, receiving="ends", receive_broken=True)
        elif rules.receiver_times_out:
            yield replace(state, receiving="is late")
    elif at == "is late":
        if state.decided == count + 1 and rules.mistake != "withdraws from a writer":
            yield replace(state, receiving="waits")
        else:
            yield replace(state, receiving="ends", decided=WITHDRAWN, receive_broken=True)
    elif at == "ends":
        yield replace(state, receiving="idle", receiver=count + 1)


def _sender_steps(state: State, rules: Rules) -> Iterator[State]:
    if set(state.blocks) == {"idle"} and state.sender < rules.n_exchanges:
        yield replace(state, blocks=("waits",) * N_BLOCKS)
    if set(state.blocks) == {"over"}:
        yield replace(state, blocks=("idle",) * N_BLOCKS, sender=state.sender + 1)
    for i in range(N_BLOCKS):
        yield from _block_steps(state, i, rules)


def _steps(state: State, rules: Rules) -> Iterator[State]:
    if state.ended != "sender":
        yield from _sender_steps(state, rules)
    if state.ended != "receiver":
        yield from _receiver_steps(state, rules)
    if not state.ended:
        yield from (replace(state, ended=who) for who in rules.may_end)
    if not state.is_loss_known and (state.ended or rules.mistake == "takes a late process for an ended one"):
        yield replace(state, is_loss_known=True)


def _is_over(state: State, rules: Rules) -> bool:
    n = rules.n_exchanges
    return (state.ended == "sender" or state.sender == n) and (state.ended == "receiver" or state.receiver == n)


def violations(rules: Rules) -> tuple[set[str], int]:
    """What goes wrong in some order of the steps, and the number of states."""
    seen, todo, found = {State()}, [State()], set()
    while todo:
        state = todo.pop()
        if state.error:
            found.add(state.error)
            continue
        following = list(_steps(state, rules))
        if not following and not _is_over(state, rules):
            found.add("a stream waits for ever")
        if not following and not state.ended and state.send_broken != state.receive_broken:
            found.add("only one end is told")
        fresh = [one for one in following if one not in seen]
        seen.update(fresh)
        todo += fresh
    return found, len(seen)
