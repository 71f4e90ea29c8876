"""The state that the actions change, and the program that they carry out.

Keys of a state, beside the library's (library.py):
    todo, thread                         actions to come
    lock, publishing, process            the thread that has the engine's lock, or that of published offers; or None
    sent | received, process, line       counts (Meetings); a line is (communicator, other process, tag or ANY)
    order, process, line                 receives posted, cancelled ones too; `offer order, receive`: this one's
    undecided, process, comm             receives and matched probes whose numbers are not known
    sent to, process, comm, other        messages of all tags
    any tag, process, comm, other        receives from there have any tag; None: there was none
    sender | receiver, process, comm     the thread that sends or receives first
    closed sends | receives, process, comm
    early | pending | orphans, process   the engine's messages; freed receives; `has work`, process
    line | base | n_posted | slots, process, number     a Line of the mailbox
    word | owner, process, number        a Slot: (n, line, state); the receive whose offer it holds
    landed, process, number              of a Slot: (is_landed, chunks that have arrived)
    packed | unpacked, receive           the messages whose chunks are in its landing; in its buffer, from there
    vacant, probes, shut, process        vacant slots; a probe was announced; closed communicators in the mailbox
    offer, receive                       (slot, line, n) or None; `live`: it is published; `taken`: a call completes it
    done | bytes, receive                complete to the program; the message that was written into its buffer
    turn | turn of all, message          n (0: none), of its line and of all tags
    look | line of all, message          "early", "claimed" or "nothing"; the line that it found is of all tags
    claim, message                       (process, slot, (n, line), receive) or None
    is claimed, thread                   a cancellation could not revoke an offer
"""

from __future__ import annotations

from collections.abc import Iterable

from faults import FAULTS
from library import Calls, State, Violation
from offer_table import FIRST, STEPS, Step
from programs import LANDED, Program

N_SLOTS = 2
WINDOW = 2  # kWindow
NONE, ENDED = 0, -1  # communicators of lines
NO_CHUNKS = ("", "")  # of a landing
LineKey = tuple[int, int, int]  # communicator, other process, tag


class Model:
    """One program, with mistakes. `taken` collects the steps of offers that were taken."""

    def __init__(self, program: Program, faults: Iterable[str] = ()) -> None:
        self.program, self.faults = program, frozenset(faults)
        assert self.faults <= set(FAULTS)
        self.calls = Calls(program)
        self.taken: set[Step] = set()
        self.threads = range(len(program.threads))
        self.is_alone = [self.calls.process_of.count(process) == 1 for process in self.calls.process_of]
        ops = [op for thread in program.threads for op in thread.ops]
        self.lands = any(message.kind in LANDED for message in self.calls.messages.values())
        self.frees = any(op.kind == "free" for op in ops)
        self.named = {name for op in ops if op.kind in ("wait", "drop") for name in op.names}
        self.n_lines = {process: len(self._incoming(process)) for process in range(self.calls.n_processes)}

    def process(self, thread: int) -> int:
        return self.calls.process_of[thread]

    def line_of(self, m: str) -> LineKey:
        """At the sender."""
        message = self.calls.messages[m]
        return (message.comm, message.destination, message.tag)

    def step(self, state: State, process: int, slot: int, end: str, actor: str) -> None:
        """Slot::step or step_alone, which the table allows."""
        n, line, start = state["word", process, slot]
        step = Step(start, end, actor)
        if step not in STEPS:
            raise Violation(f"no such step of an offer: {start} to {end} by the {actor}")
        self.taken.add(step)
        state["word", process, slot] = (n, line, end)

    # ---- the first state

    def initial(self) -> State:
        state = self.calls.initial()
        for process in range(self.calls.n_processes):
            self._set_up_counts(state, process)
            self._set_up_mailbox(state, process)
        for r in self.calls.receives:
            state.update({("offer", r): None, ("bytes", r): None, ("offer order", r): 0})
            state["packed", r] = state["unpacked", r] = NO_CHUNKS
            state.update({(key, r): False for key in ("live", "taken", "done")})
        for m in self.calls.messages:
            state.update({("turn", m): 0, ("turn of all", m): 0, ("look", m): "", ("claim", m): None})
            state["line of all", m] = False
        for thread, (_, ops) in enumerate(self.program.threads):
            state["is claimed", thread] = False
            state["todo", thread] = (*(("call", thread, place) for place in range(len(ops))), ("end", thread))
        return state

    def _incoming(self, process: int) -> set[LineKey]:
        return {(r.comm, r.source, r.tag) for r in self.calls.receives.values() if r.process == process}

    def _set_up_counts(self, state: State, process: int) -> None:
        outgoing = {(m.comm, m.destination, m.tag) for m in self.calls.messages.values() if m.source == process}
        state.update({("sent", process, line): 0 for line in outgoing})
        state.update({(key, process, line): 0 for key in ("received", "order") for line in self._incoming(process)})
        state.update({("sent to", process, line[0], line[1]): 0 for line in outgoing})
        state.update({("any tag", process, line[0], line[1]): None for line in self._incoming(process)})
        for comm in {one.comm for one in (*self.calls.receives.values(), *self.calls.messages.values())}:
            state.update({(key, process, comm): None for key in ("sender", "receiver")})
            state.update({(key, process, comm): False for key in ("closed sends", "closed receives")})
            state["undecided", process, comm] = ()

    def _set_up_mailbox(self, state: State, process: int) -> None:
        state.update({(key, process): None for key in ("lock", "publishing")})
        state.update({(key, process): () for key in ("early", "pending", "announced", "orphans")})
        for number in range(self.n_lines[process]):
            state["line", process, number] = (NONE, 0, 0)
            state["base", process, number] = state["n_posted", process, number] = 0
            state["slots", process, number] = (0,) * WINDOW
        for slot in range(N_SLOTS):
            state["word", process, slot], state["owner", process, slot] = (0, 0, FIRST), ""
            state["landed", process, slot] = (False, 0)
        state["vacant", process] = tuple(range(N_SLOTS))
        state["probes", process], state["has work", process], state["shut", process] = False, False, frozenset()
