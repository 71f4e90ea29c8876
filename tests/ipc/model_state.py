"""The state that the actions change, and the program that they carry out.

Keys of a state, beside the library's (library.py):
    todo, thread                         actions to come
    lock, publishing, process            the thread that has the lock of requests or of published receives; or None
    sent | received, process, queue      counts (Matcher); a match queue is (communicator, other process, tag or ANY)
    order, process, queue                receives posted, cancelled ones too
    published_receive order, receive     this one's
    undecided, process, comm             receives and matched probes whose numbers are not known
    sent to, process, comm, other        messages of all tags
    any tag, process, comm, other        receives from there have any tag; None: there was none
    sender | receiver, process, comm     the thread that sends or receives first
    closed sends | receives, process, comm
    needed, thread                       the sends that its call ends with
    unmatched | pending | orphans, process   the process's messages; freed receives; `has work`, process
    match_queue | base | n_posted | slots, process, number   a MatchQueue of the shared segment
    word | owner, process, number        a Slot: (n, match queue, state); the published receive that it holds
    bounced, process, number             of a Slot: (is_bounced, chunks that have arrived)
    packed | unpacked, receive           the messages whose chunks are in its bounce buffer; in its buffer, from there
    vacant, probes, shut, process        vacant slots; the process probes; closed communicators in the shared segment
    published_receive, receive           (slot, match queue, n) or None; `live`: published; `taken`: a call completes it
    done | bytes, receive                complete to the program; the message that was written into its buffer
    sequenced | sequenced of all, message   n (0: none), of its match queue and of all tags
    look | match queue of all, message   "unmatched", "claimed" or "nothing"; the queue that it found is of all tags
    claim, message                       (process, slot, (n, match queue), receive) or None
    is claimed, thread                   a cancellation could not revoke a published receive
"""

from __future__ import annotations

from collections.abc import Iterable

from faults import FAULTS
from library import Calls, State, Violation
from programs import BOUNCED, Program
from published_receives_table import FIRST, STEPS, Step

N_SLOTS = 2
WINDOW = 2  # kWindow
NONE, ENDED = 0, -1  # communicators of match queues
NO_CHUNKS = ("", "")  # of a bounce buffer
MatchKey = tuple[int, int, int]  # communicator, other process, tag


class Model:
    """One program, with mistakes. `taken` collects the steps of published receives that were taken."""

    def __init__(self, program: Program, faults: Iterable[str] = ()) -> None:
        self.program, self.faults = program, frozenset(faults)
        assert self.faults <= set(FAULTS)
        self.calls = Calls(program)
        self.taken: set[Step] = set()
        self.threads = range(len(program.threads))
        self.is_alone = [self.calls.process_of.count(process) == 1 for process in self.calls.process_of]
        ops = [op for thread in program.threads for op in thread.ops]
        self.bounces = any(message.kind in BOUNCED for message in self.calls.messages.values())
        self.frees = any(op.kind == "free" for op in ops)
        self.named = {name for op in ops if op.kind in ("wait", "drop") for name in op.names}
        self.n_match_queues = {process: len(self._incoming(process)) for process in range(self.calls.n_processes)}

    def process(self, thread: int) -> int:
        return self.calls.process_of[thread]

    def line_of(self, m: str) -> MatchKey:
        """At the sender."""
        message = self.calls.messages[m]
        return (message.comm, message.destination, message.tag)

    def step(self, state: State, process: int, slot: int, end: str, actor: str) -> None:
        """Slot::step or step_alone, which the table allows."""
        n, match_queue, start = state["word", process, slot]
        step = Step(start, end, actor)
        if step not in STEPS:
            raise Violation(f"no such step of an published_receive: {start} to {end} by the {actor}")
        self.taken.add(step)
        state["word", process, slot] = (n, match_queue, end)

    # ---- the first state

    def initial(self) -> State:
        state = self.calls.initial()
        for process in range(self.calls.n_processes):
            self._set_up_counts(state, process)
            self._set_up_segment(state, process)
        for r in self.calls.receives:
            state.update({("published_receive", r): None, ("bytes", r): None, ("published receive order", r): 0})
            state["packed", r] = state["unpacked", r] = NO_CHUNKS
            state.update({(key, r): False for key in ("live", "taken", "done")})
        for m in self.calls.messages:
            state.update({("sequenced", m): 0, ("sequence number of all", m): 0, ("look", m): "", ("claim", m): None})
            state["match queue of all", m] = False
        for thread, (_, ops) in enumerate(self.program.threads):
            state["is claimed", thread], state["needed", thread] = False, ()
            state["todo", thread] = (*(("call", thread, place) for place in range(len(ops))), ("end", thread))
        return state

    def _incoming(self, process: int) -> set[MatchKey]:
        return {(r.comm, r.source, r.tag) for r in self.calls.receives.values() if r.process == process}

    def _set_up_counts(self, state: State, process: int) -> None:
        outgoing = {(m.comm, m.destination, m.tag) for m in self.calls.messages.values() if m.source == process}
        state.update({("sent", process, match_queue): 0 for match_queue in outgoing})
        state.update(
            {(key, process, match_queue): 0 for key in ("received", "order") for match_queue in self._incoming(process)}
        )
        state.update({("sent to", process, match_queue[0], match_queue[1]): 0 for match_queue in outgoing})
        state.update(
            {("any tag", process, match_queue[0], match_queue[1]): None for match_queue in self._incoming(process)}
        )
        for comm in {one.comm for one in (*self.calls.receives.values(), *self.calls.messages.values())}:
            state.update({(key, process, comm): None for key in ("sender", "receiver")})
            state.update({(key, process, comm): False for key in ("closed sends", "closed receives")})
            state["undecided", process, comm] = ()

    def _set_up_segment(self, state: State, process: int) -> None:
        state.update({(key, process): None for key in ("lock", "publishing")})
        state.update({(key, process): () for key in ("unmatched", "pending", "fin_sent", "orphans")})
        for number in range(self.n_match_queues[process]):
            state["match_queue", process, number] = (NONE, 0, 0)
            state["base", process, number] = state["n_posted", process, number] = 0
            state["slots", process, number] = (0,) * WINDOW
        for slot in range(N_SLOTS):
            state["word", process, slot], state["owner", process, slot] = (0, 0, FIRST), ""
            state["bounced", process, slot] = (False, 0)
        state["vacant", process] = tuple(range(N_SLOTS))
        state["probes", process], state["has work", process], state["shut", process] = False, False, frozenset()
