"""The protocol of direct messages as a model: what the threads of a few processes do, one atomic action at a time.

Each action is a method of `Protocol`: it changes a state (library.py) and returns how its thread may go on, as a list
of sequences of actions. An empty list: the action has to wait. The names are those of src/message and src/mailbox.
Every change of an offer's state goes through the table src/mailbox/offers.def.

Keys of a state, beside the library's:
    todo, thread                         actions to come
    lock, publishing, process            the thread that has the engine's lock, or publishes an offer; or None
    sent | received, process, line       counts (Meetings); a line is (communicator, other process, tag)
    sender | receiver, process, comm     the thread that sends or receives first
    closed sends | receives, process, comm
    early | pending | orphans, process   the engine's messages; freed receives; `has work`, process
    line | base | n_posted | slots, process, number     a Line of the mailbox
    word | owner, process, number        a Slot: (n, line, state); the receive whose offer it holds
    vacant, probes, shut, process        vacant slots; a probe was announced; closed communicators in the mailbox
    offer, receive                       (slot, line, n) or None; `live`: it is published; `taken`: a call completes it
    done | bytes, receive                complete to the program; the message that was written into its buffer
    turn | look | claim, message         n (0: none); "early", "claimed" or "nothing"; (process, slot, (n, line))

Left out: persistent requests, cancelled sends, full tables of lines, processes that die, and bounds of time (a wait
that the code bounds waits for ever here, so that one that needs its bound is a deadlock).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import library
from library import Calls, State, Violation
from offer_table import FIRST, STEPS, Step
from programs import ANY, RECEIVES, SENDS, Op, Program

Action = tuple[Any, ...]  # name, arguments
Next = list[tuple[Action, ...]]
DONE: Next = [()]
BLOCKED: Next = []

N_SLOTS = 2
WINDOW = 2  # kWindow
NONE, ENDED = 0, -1  # communicators of lines

# Seen by no other thread, or only by one that waits for the lock: carried out together with the action before.
LOCAL = {
    "call", "end", "end_it", "complete", "look", "unlock", "post_send", "join", "look_at_early", "over", "pack_early",
    "retry", "settle", "settle_again", "start",
}  # fmt: skip
# The same, if the process has one thread.
LOCAL_ALONE = LOCAL | {
    "lock", "place", "count_send", "count_library_send", "take", "withdraw", "tend", "publish", "flush", "progress",
    "go_before", "finalize",
}  # fmt: skip

FAULTS = {
    "claims compare no line": "a claim compares the number and the state of a slot alone",
    "claims compare no number": "a claim compares the line and the state of a slot alone",
    "claims by a store": "a claim reads the word and writes it later",
    "offers before the library": "an offer is published before the library has its receive",
    "marker before the bytes": "the marker is sent before the kernel has finished",
    "packed passes early": "a packed message does not take the early ones before it along",
    "direct passes its line": "a direct message passes early ones of its own tag",
    "host receives not counted": "receives of host memory are not counted",
    "host sends not counted": "sends of host memory are not counted",
    "open after a wildcard": "a wildcard does not close the receives",
    "open after a matched probe": "a matched probe does not close the receives",
    "matched probes close late": "a matched probe closes the receives after the library's call",
    "open after a second receiver": "a second thread that receives does not close the receives",
    "open after a second sender": "a second thread that sends does not close the sends",
    "no settling": "a second thread's send of the library's does not wait for claimed ones",
    "settles only while open": "a second thread's send does not wait for claimed ones if the receives are closed, too",
    "offers after a close": "an offer is published though the receives were closed since it was counted",
    "cancel closes nothing": "MPI_Cancel leaves the communicators open",
    "cancel withdraws nothing": "MPI_Cancel leaves the offers",
    "cancel withdraws managed alone": "MPI_Cancel leaves offers of freed receives, and those that a call completes",
    "cancel does not await": "MPI_Cancel does not wait for messages whose offers are claimed",
    "cancel awaits revoked": "MPI_Cancel waits for messages whose offers it revoked before",
    "numbers begin again": "a line that is used again counts from 1",
    "lines are not looked at twice": "a sender does not look whether the line that it found was used again",
}


class Protocol:
    """The model of one program. `taken` collects the steps of offers that were taken."""

    def __init__(self, program: Program, faults: Iterable[str] = ()) -> None:
        self.program, self.faults = program, frozenset(faults)
        assert self.faults <= set(FAULTS)
        self.calls = Calls(program)
        self.taken: set[Step] = set()
        self.n_lines: dict[int, int] = {}
        self.log: list[tuple[int, Action]] = []
        self.threads = range(len(program.threads))
        self.is_alone = [self.calls.process_of.count(process) == 1 for process in self.calls.process_of]
        ops = [op for thread in program.threads for op in thread.ops]
        self.frees = any(op.kind == "free" for op in ops)
        self.named = {name for op in ops if op.kind in ("wait", "drop") for name in op.names}
        self.actions = {name[1:]: getattr(self, name) for name in dir(self) if name.startswith("_") and name[1] != "_"}

    # ---- the search's view

    def initial(self) -> State:
        state = self.calls.initial()
        for process in range(self.calls.n_processes):
            self._set_up(state, process)
        for r in self.calls.receives:
            state.update({("offer", r): None, ("bytes", r): None})
            state.update({(key, r): False for key in ("live", "taken", "done")})
        for m in self.calls.messages:
            state.update({("turn", m): 0, ("look", m): "", ("claim", m): None})
        for thread, (_, ops) in enumerate(self.program.threads):
            state["await", thread] = ()
            state["todo", thread] = (*(("call", thread, place) for place in range(len(ops))), ("end", thread))
        return state

    def _set_up(self, state: State, process: int) -> None:
        comms = {r.comm for r in self.calls.receives.values()} | {m.comm for m in self.calls.messages.values()}
        incoming = {(r.comm, r.source, r.tag) for r in self.calls.receives.values() if r.process == process}
        outgoing = {(m.comm, m.destination, m.tag) for m in self.calls.messages.values() if m.source == process}
        state.update({(key, process): None for key in ("lock", "publishing")})
        state.update({(key, process): () for key in ("early", "pending", "orphans")})
        state.update({("sent", process, line): 0 for line in outgoing})
        state.update({("received", process, line): 0 for line in incoming})
        for comm in comms:
            state.update({(key, process, comm): None for key in ("sender", "receiver")})
            state.update({(key, process, comm): False for key in ("closed sends", "closed receives")})
        self.n_lines[process] = len(incoming)
        for number in range(len(incoming)):
            state["line", process, number] = (NONE, 0, 0)
            state["base", process, number] = state["n_posted", process, number] = 0
            state["slots", process, number] = (0,) * WINDOW
        for slot in range(N_SLOTS):
            state["word", process, slot], state["owner", process, slot] = (0, 0, FIRST), ""
        state["vacant", process] = tuple(range(N_SLOTS))
        state["probes", process], state["has work", process], state["shut", process] = False, False, frozenset()

    def successors(self, state: State) -> list[tuple[tuple[tuple[int, Action], ...], State]]:
        """Each with the actions that lead there."""
        found = []
        for thread in self.threads:
            if state["todo", thread]:
                found += self._results(state, thread)
        for channel in self.calls.channels:
            if state[channel]:
                found.append(self._arrival(state, channel))
        return found

    def _arrival(self, state: State, channel: tuple[Any, ...]) -> tuple[tuple[tuple[int, Action], ...], State]:
        after = dict(state)
        self.log = [(-1, ("brings", state[channel][0][0]))]
        text = library.arrive(self.calls, after, channel)
        self._check_matches(after, channel[-1])
        return ((-1, (text,)),), after

    def _results(self, state: State, thread: int) -> list[tuple[tuple[tuple[int, Action], ...], State]]:
        after = dict(state)
        self.log = [(thread, state["todo", thread][0])]
        found = []
        for new in self.advance(after, thread):
            log = list(self.log)
            for action in self.run_local(new, thread):
                log.append((thread, action))
            found.append((tuple(log), new))
        return found

    def advance(self, state: State, thread: int) -> list[State]:
        """The states after the next action of a thread; the state given is changed."""
        action, *rest = state["todo", thread]
        ways = self.actions[action[0]](state, thread, *action[1:])
        for k, way in enumerate(ways):
            ways[k] = (*way, *rest)
        states = [state] + [dict(state) for _ in ways[1:]] if ways else []
        for one, way in zip(states, ways, strict=True):
            one["todo", thread] = way
        return states

    def run_local(self, state: State, thread: int) -> list[Action]:
        done = []
        local = LOCAL_ALONE if self.is_alone[thread] else LOCAL
        while (todo := state["todo", thread]) and todo[0][0] in local:
            done.append(todo[0])
            [after] = self.advance(state, thread)
            assert after is state
        return done

    def check_end(self, state: State) -> None:
        """Of a state without successors."""
        left = {thread: state["todo", thread][0] for thread in self.threads if state["todo", thread]}
        for thread, action in left.items():
            if not self._is_blocked_by_mpi(state, action):
                raise Violation(f"deadlock: thread {thread} waits for ever in {action}")
        if left:
            return
        for process in range(self.calls.n_processes):
            words = [state["word", process, slot] for slot in range(N_SLOTS)]
            if any(word[2] != FIRST for word in words) or len(state["vacant", process]) != N_SLOTS:
                raise Violation(f"slots of process {process} are not vacant at the end: {words}")
            if state["early", process] or state["pending", process]:
                raise Violation(f"sends of process {process} are pending at the end")

    def _is_blocked_by_mpi(self, state: State, action: Action) -> bool:
        if action[0] in ("probe", "mprobe"):
            return library.would_block(self.calls, state, action[1])
        if action[0] != "wait_all":
            return False
        waiting = [r for r in action[1] if library.would_block(self.calls, state, r)]
        return bool(waiting) or any(self._would_wait(state, m) for m in action[2])

    def _would_wait(self, state: State, message: str) -> bool:
        """A synchronous send, without a receive that would take it."""
        left = [r for r in self.calls.receives if r in state["posted", self.calls.receives[r].process]]
        accepts = any(self.calls.accepts(r, message) for r in left)
        return self.program.is_synchronous and state["met", message] is None and not accepts

    # ---- common

    def _step(self, state: State, process: int, slot: int, end: str, actor: str) -> None:
        n, line, start = state["word", process, slot]
        step = Step(start, end, actor)
        if step not in STEPS:
            raise Violation(f"no such step of an offer: {start} to {end} by the {actor}")
        self.taken.add(step)
        state["word", process, slot] = (n, line, end)

    def _matches(self, word: tuple[int, int, str], n: int, line: int, state: str) -> bool:
        is_line = "claims compare no line" in self.faults or word[1] == line
        is_number = "claims compare no number" in self.faults or word[0] == n
        return is_line and is_number and word[2] == state

    def _check_matches(self, state: State, process: int) -> None:
        """A marker meets the receive whose offer was written, a packed message one whose offer is not claimed."""
        for r, receive in self.calls.receives.items():
            if receive.process != process or receive.kind not in RECEIVES or state["done", r]:
                continue
            if isinstance(state["matched", r], tuple):
                self._check_match(state, r, *state["matched", r])

    def _check_match(self, state: State, r: str, m: str, kind: str) -> None:
        process = self.calls.receives[r].process
        claimed = [
            one
            for one, claim in ((one, state["claim", one]) for one in self.calls.messages)
            if claim is not None and claim[0] == process and claim[3] == r
        ]
        if kind == "marker" and claimed != [m]:
            raise Violation(f"the marker {m} meets {r}, whose offer it has not claimed")
        if kind == "packed" and claimed:
            raise Violation(f"the packed message {m} meets {r}, whose offer is {claimed[0]}'s")

    def _process(self, thread: int) -> int:
        return self.calls.process_of[thread]

    # ---- calls of the program

    def _call(self, state: State, thread: int, of: int, place: int) -> Next:
        op = self.program.threads[of].ops[place]
        name = self.calls.names[of, place]
        if op.kind in SENDS:
            return self._call_send(op, name)
        if op.kind in RECEIVES:
            return [(("place", name),)]
        return [self._other_call(state, thread, place, op, name)]

    def _call_send(self, op: Op, name: str) -> Next:
        if op.kind != "host_send":
            return [(("lock",), ("count_send", name))]
        return [(("count_library_send", name), ("go_before", op.comm, op.peer), ("send_library", name))]

    def _other_call(self, state: State, thread: int, place: int, op: Op, name: str) -> tuple[Action, ...]:
        match op.kind:
            case "probe":
                return (("announce_probes",), ("flush",), ("probe", name))
            case "iprobe":
                return (("announce_probes",), ("progress",))
            case "mprobe" if "matched probes close late" in self.faults:
                return (("announce_probes",), ("flush",), ("mprobe", name), ("close", op.comm))
            case "mprobe" if "open after a matched probe" in self.faults:
                return (("announce_probes",), ("flush",), ("mprobe", name))
            case "mprobe":
                return (("announce_probes",), ("close", op.comm), ("flush",), ("mprobe", name))
            case "wait":
                names = tuple(op.names) or self._own_receives(state, thread, place)
                return self._waiting(names, self._own_sends(thread, place))
            case "cancel":
                return self._cancelling(op.names)
            case "drop":
                return (("flush",), ("adopt", op.names))
            case "free":
                return (("flush",), ("end_lines", op.comm), ("end_meetings", op.comm))
        return (("flush",),)

    def _waiting(self, receives: tuple[str, ...], sends: tuple[str, ...]) -> tuple[Action, ...]:
        return (("flush",), ("take", receives), ("wait_all", receives, sends), *(("end_it", r) for r in receives))

    def _own_receives(self, state: State, thread: int, place: int) -> tuple[str, ...]:
        """Those that the program has posted and neither waits for by name nor has completed."""
        names = [self.calls.names[thread, k] for k in range(place)]
        all_of = self.calls.receives
        posted = [r for r in names if r in all_of and all_of[r].kind in RECEIVES and all_of[r].thread == thread]
        return tuple(r for r in dict.fromkeys(posted) if r not in self.named and not state["done", r])

    def _own_sends(self, thread: int, place: int) -> tuple[str, ...]:
        return tuple(n for k in range(place) if (n := self.calls.names[thread, k]) in self.calls.messages)

    def _end(self, state: State, thread: int, of: int) -> Next:
        """The program waits for all of its requests; MPI_Finalize."""
        place = len(self.program.threads[of].ops)
        waits = self._waiting(self._own_receives(state, thread, place), self._own_sends(thread, place))
        return [(*waits, ("flush",), ("finalize",))]

    def _finalize(self, state: State, thread: int) -> Next:
        orphans = state["orphans", self._process(thread)]
        state["orphans", self._process(thread)] = ()
        return [(("wait_all", orphans, ()), *(("end_it", r) for r in orphans))]

    # ---- sends: message/offers.cpp, message/engine.cpp, message/early.cpp

    def _lock(self, state: State, thread: int) -> Next:
        process = self._process(thread)
        if state["lock", process] is not None:
            return BLOCKED
        state["lock", process] = thread
        return list(DONE)

    def _unlock(self, state: State, thread: int) -> Next:
        """Counts the work, too."""
        process = self._process(thread)
        state["lock", process] = None
        state["has work", process] = any(state[key, process] for key in ("early", "pending", "orphans"))
        return list(DONE)

    def _line_of(self, m: str) -> tuple[int, int, int]:
        message = self.calls.messages[m]
        return (message.comm, message.destination, message.tag)

    def _note_send(self, state: State, thread: int, m: str) -> None:
        """The turn of the message."""
        state["issued", m] = True
        process, line = self._process(thread), self._line_of(m)
        first = state["sender", process, line[0]]
        state["sender", process, line[0]] = thread if first is None else first
        if first not in (None, thread) and "open after a second sender" not in self.faults:
            state["closed sends", process, line[0]] = True
        if state["closed sends", process, line[0]]:
            return
        is_counted = self.calls.messages[m].kind != "host_send" or "host sends not counted" not in self.faults
        state["sent", process, line] += is_counted
        state["turn", m] = state["sent", process, line]

    def _count_send(self, state: State, thread: int, m: str) -> Next:
        self._note_send(state, thread, m)
        state["look", m] = "nothing"
        if state["turn", m] == 0:
            return [(("post_send", m),)]
        if self._is_behind(state, m):
            state["look", m] = "early"
            return [(("post_send", m),)]
        return [(("look", m), ("post_send", m))]

    def _is_behind(self, state: State, m: str) -> bool:
        """An early message of its line is before it."""
        if "direct passes its line" in self.faults:
            return False
        early = state["early", self.calls.messages[m].source]
        before = early[: early.index(m)] if m in early else early
        return any(self._line_of(one) == self._line_of(m) for one in before)

    def _count_library_send(self, state: State, thread: int, m: str) -> Next:
        process, comm = self._process(thread), self.calls.messages[m].comm
        is_all_closed = state["closed sends", process, comm] and state["closed receives", process, comm]
        self._note_send(state, thread, m)
        is_left = is_all_closed and "settles only while open" in self.faults
        settles = state["closed sends", process, comm] and not is_left and "no settling" not in self.faults
        return [(("settle",),) if settles else ()]

    def _look(self, state: State, thread: int, m: str) -> Next:
        """meet()."""
        return [(("find", m),)] if self.frees else [(("read_posted", m, *self._found(state, m)),)]

    def _find(self, state: State, thread: int, m: str) -> Next:
        """Reads the communicators of the lines."""
        comm, process = self.calls.messages[m].comm, self.calls.messages[m].destination
        lines = [k for k in range(self.n_lines[process]) if state["line", process, k][0] == comm]
        return [(("read_keys", m, tuple(lines)),)]

    def _read_keys(self, state: State, thread: int, m: str, lines: tuple[int, ...]) -> Next:
        message = self.calls.messages[m]
        wanted = (message.source, message.tag)
        for line in lines:
            if state["line", message.destination, line][1:] == wanted:
                return [(("read_base", m, line),)]
        return [(("read_posted", m, None, 0),)]

    def _found(self, state: State, m: str) -> tuple[int | None, int]:
        message = self.calls.messages[m]
        key = (message.comm, message.source, message.tag)
        for line in range(self.n_lines[message.destination]):
            if state["line", message.destination, line] == key:
                return line, 0
        return None, 0

    def _read_base(self, state: State, thread: int, m: str, line: int) -> Next:
        return [(("look_twice", m, line, state["base", self.calls.messages[m].destination, line]),)]

    def _look_twice(self, state: State, thread: int, m: str, line: int, base: int) -> Next:
        comm = state["line", self.calls.messages[m].destination, line][0]
        is_same = comm == self.calls.messages[m].comm or "lines are not looked at twice" in self.faults
        return [(("read_posted", m, line if is_same else None, base),)]

    def _read_posted(self, state: State, thread: int, m: str, line: int | None, base: int) -> Next:
        """A line that is found later, or a count read later, is one that the sender sees when it looks again."""
        message = self.calls.messages[m]
        process, n = message.destination, base + state["turn", m]
        if line is None and not self.frees:
            line, _ = self._found(state, m)
        if line is not None and state["n_posted", process, line] >= n:
            return [(("read_slot", m, line, n),)]
        is_own = process == message.source
        may_come = not is_own and not state["probes", process] and message.comm not in state["shut", process]
        state["look", m] = "early" if may_come else "nothing"
        return list(DONE)

    def _read_slot(self, state: State, thread: int, m: str, line: int, n: int) -> Next:
        return [(("claim", m, line, n, state["slots", self.calls.messages[m].destination, line][n % WINDOW]),)]

    def _claim(self, state: State, thread: int, m: str, line: int, n: int, slot: int) -> Next:
        process = self.calls.messages[m].destination
        if not self._matches(state["word", process, slot], n, line, "offered"):
            state["look", m] = "nothing"
            return list(DONE)
        if "claims by a store" in self.faults:
            return [(("store_claim", m, line, n, slot),)]
        return self._claimed(state, m, slot)

    def _store_claim(self, state: State, thread: int, m: str, line: int, n: int, slot: int) -> Next:
        state["word", self.calls.messages[m].destination, slot] = (n, line, "offered")
        return self._claimed(state, m, slot)

    def _claimed(self, state: State, m: str, slot: int) -> Next:
        message = self.calls.messages[m]
        self._step(state, message.destination, slot, "claimed", "sender")
        state["look", m] = "claimed"
        state["claim", m] = (
            message.destination,
            slot,
            state["word", message.destination, slot][:2],
            state["owner", message.destination, slot],
        )
        return [(("decline", m),)] if message.kind == "misfit" else list(DONE)

    def _decline(self, state: State, thread: int, m: str) -> Next:
        process, slot, _, _ = state["claim", m]
        self._step(state, process, slot, "declined", "sender")
        state["claim", m], state["look", m] = None, "nothing"
        return list(DONE)

    def _post_send(self, state: State, thread: int, m: str) -> Next:
        """Engine::post behind note_send."""
        process = self._process(thread)
        if state["look", m] == "early":
            state["early", process] += (m,)
            return [(("unlock",),)]
        if state["look", m] == "nothing":
            self._take_early(state, process, *self._line_of(m)[:2])
        state["pending", process] += (m,)
        return [(("start_or_leave",),)]

    def _start_or_leave(self, state: State, thread: int) -> Next:
        return [(("start",), ("unlock",)), (("unlock",),)]

    def _take_early(self, state: State, process: int, comm: int, peer: int, before: str = "") -> None:
        """Early messages to one peer are packed, those before one of them or all."""
        if "packed passes early" in self.faults:
            return
        early = state["early", process]
        those = early[: early.index(before)] if before else early
        taken = tuple(m for m in those if self._line_of(m)[:2] == (comm, peer))
        for m in taken:
            state["look", m] = "nothing"
        state["early", process] = tuple(m for m in early if m not in taken)
        state["pending", process] += taken

    def _pack_early(self, state: State, thread: int, comm: int, peer: int) -> Next:
        self._take_early(state, self._process(thread), comm, peer)
        return list(DONE)

    def _go_before(self, state: State, thread: int, comm: int, peer: int) -> Next:
        if not state["has work", self._process(thread)]:
            return list(DONE)
        return [(("lock",), ("pack_early", comm, peer), ("start",), ("unlock",))]

    def _flush(self, state: State, thread: int) -> Next:
        return [(("settle",),)] if state["has work", self._process(thread)] else list(DONE)

    def _settle(self, state: State, thread: int) -> Next:
        """start_pending(true)."""
        return [(("lock",), ("look_at_early",), ("start",), ("tend",), ("unlock",), ("settle_again",))]

    def _settle_again(self, state: State, thread: int) -> Next:
        return [(("settle",),)] if state["early", self._process(thread)] else list(DONE)

    def _progress(self, state: State, thread: int) -> Next:
        if not state["has work", self._process(thread)]:
            return list(DONE)
        return [(("lock",), ("look_at_early",), ("start",), ("tend",), ("unlock",))]

    def _look_at_early(self, state: State, thread: int) -> Next:
        """EarlySends::take_met."""
        return [tuple(("retry", m) for m in state["early", self._process(thread)])]

    def _retry(self, state: State, thread: int, m: str) -> Next:
        if m not in state["early", self._process(thread)]:
            return list(DONE)
        return [(("sift", m),)] if self._is_behind(state, m) else [(("look", m), ("sift", m))]

    def _sift(self, state: State, thread: int, m: str) -> Next:
        """Patience may end at any time."""
        if state["look", m] == "early":
            return [(), (("over", m), ("join", m))]
        return [(("join", m),)]

    def _over(self, state: State, thread: int, m: str) -> Next:
        state["look", m] = "nothing"
        return list(DONE)

    def _join(self, state: State, thread: int, m: str) -> Next:
        process = self._process(thread)
        if state["look", m] == "nothing":
            self._take_early(state, process, *self._line_of(m)[:2], before=m)
        state["early", process] = tuple(one for one in state["early", process] if one != m)
        state["pending", process] += (m,)
        return list(DONE)

    def _start(self, state: State, thread: int) -> Next:
        """start_packed: the pending sends in order."""
        process = self._process(thread)
        if not state["pending", process]:
            return list(DONE)
        m, *rest = state["pending", process]
        state["pending", process] = tuple(rest)
        if state["claim", m] is None:
            return [(("send_library", m), ("start",))]
        if self.calls.messages[m].kind == "failing":
            hasty = (("send_marker", m),) if "marker before the bytes" in self.faults else ()
            return [(*hasty, ("write", m), ("decline", m), ("send_library", m), ("start",))]
        return [(("write", m), ("written", m), ("send_marker", m), ("start",))]

    def _write(self, state: State, thread: int, m: str) -> Next:
        r = state["claim", m][3]
        if state["done", r] or state["matched", r] == "cancelled":
            raise Violation(f"{m} is written into the buffer of {r}, which is the program's")
        if r not in state["posted", self.calls.receives[r].process] and state["matched", r] is None:
            raise Violation(f"{m} is written into the buffer of {r}, which is not posted")
        state["bytes", r] = m
        return list(DONE)

    def _written(self, state: State, thread: int, m: str) -> Next:
        process, slot, word, _ = state["claim", m]
        if state["word", process, slot][:2] != word:
            raise Violation(f"the slot that {m} has claimed holds another offer")
        self._step(state, process, slot, "written", "sender")
        return list(DONE)

    def _send_marker(self, state: State, thread: int, m: str) -> Next:
        library.send(self.calls, state, m, "marker")
        return list(DONE)

    def _send_library(self, state: State, thread: int, m: str) -> Next:
        library.send(self.calls, state, m, "packed")
        return list(DONE)

    # ---- receives: message/offers.cpp, message/direct.cpp

    def _place(self, state: State, thread: int, r: str) -> Next:
        """note_receive: the place of a receive in its line, and a slot."""
        process, receive = self._process(thread), self.calls.receives[r]
        if ANY in (receive.source, receive.tag):
            closes = () if "open after a wildcard" in self.faults else (("close_receives", receive.comm),)
            return [(*closes, ("post_library", r))]
        first = state["receiver", process, receive.comm]
        state["receiver", process, receive.comm] = thread if first is None else first
        if first not in (None, thread) and "open after a second receiver" not in self.faults:
            self._close_receives(state, thread, receive.comm)
        if state["closed receives", process, receive.comm]:
            return [(("post_library", r),)]
        if receive.kind == "host_receive" and "host receives not counted" in self.faults:
            return [(("post_library", r),)]
        return self._placed(state, process, r)

    def _placed(self, state: State, process: int, r: str) -> Next:
        receive = self.calls.receives[r]
        key = (receive.comm, receive.source, receive.tag)
        state["received", process, key] += 1
        line, renewing = self._own_line(state, process, key)
        offered = self._take_slot(state, process, r, line) if receive.kind == "receive" else False
        state["offer", r] = (state["offer", r][0] if offered else None, line, state["received", process, key])
        if not offered:
            return [(*renewing, ("count_posted", r), ("post_library", r))]
        publishing = (("publish", r), ("set_word", r), ("set_slots", r), ("count_posted", r))
        if "offers before the library" in self.faults:
            return [(*renewing, *publishing, ("post_library", r))]
        return [(*renewing, ("post_library", r), *publishing)]

    def _own_line(self, state: State, process: int, key: tuple[int, int, int]) -> tuple[int, tuple[Action, ...]]:
        """Mailbox::line: its number, and the stores that make it this one's if it is used again."""
        lines = range(self.n_lines[process])
        for line in lines:
            if state["line", process, line] == key:
                return line, ()
        line = next(k for k in lines if state["line", process, k][0] in (NONE, ENDED))
        if state["line", process, line][0] == NONE:
            state["line", process, line] = key
            return line, ()
        return line, (("set_key", line, key), ("set_base", line), ("set_comm", line, key))

    def _set_key(self, state: State, thread: int, line: int, key: tuple[int, int, int]) -> Next:
        state["line", self._process(thread), line] = (ENDED, *key[1:])
        return list(DONE)

    def _set_base(self, state: State, thread: int, line: int) -> Next:
        process = self._process(thread)
        if "numbers begin again" in self.faults:
            state["n_posted", process, line] = 0
        state["base", process, line] = state["n_posted", process, line]
        return list(DONE)

    def _set_comm(self, state: State, thread: int, line: int, key: tuple[int, int, int]) -> Next:
        state["line", self._process(thread), line] = key
        return list(DONE)

    def _take_slot(self, state: State, process: int, r: str, line: int) -> bool:
        if not state["vacant", process]:
            return False
        slot, *rest = state["vacant", process]
        state["vacant", process] = tuple(rest)
        state["owner", process, slot] = r
        state["offer", r] = (slot, line, 0)
        return True

    def _number(self, state: State, process: int, r: str) -> int:
        _, line, n = state["offer", r]
        return int(n + state["base", process, line])

    def _post_library(self, state: State, thread: int, r: str) -> Next:
        library.post(self.calls, state, r)
        self._check_matches(state, self._process(thread))
        return list(DONE)

    def _publish(self, state: State, thread: int, r: str) -> Next:
        """Offer::post. Not if the receives have been closed since it was counted: another may have slipped in."""
        process, comm = self._process(thread), self.calls.receives[r].comm
        if "offers after a close" in self.faults:
            state["live", r] = True
            return list(DONE)
        if state["publishing", process] is not None:
            return BLOCKED
        if not state["closed receives", process, comm]:
            state["publishing", process] = thread
            state["live", r] = True
        return list(DONE)

    def _set_word(self, state: State, thread: int, r: str) -> Next:
        process, (slot, line, _) = self._process(thread), state["offer", r]
        if state["live", r]:
            state["word", process, slot] = (self._number(state, process, r), line, FIRST)
            self._step(state, process, slot, "offered", "receiver")
        return list(DONE)

    def _set_slots(self, state: State, thread: int, r: str) -> Next:
        process, (slot, line, _) = self._process(thread), state["offer", r]
        if state["live", r]:
            slots = list(state["slots", process, line])
            slots[self._number(state, process, r) % WINDOW] = slot
            state["slots", process, line] = tuple(slots)
        return list(DONE)

    def _count_posted(self, state: State, thread: int, r: str) -> Next:
        process, (slot, line, _) = self._process(thread), state["offer", r]
        if slot is None or state["live", r]:
            state["n_posted", process, line] = self._number(state, process, r)
        if slot is None:
            state["offer", r] = None
        if state["publishing", process] == thread:
            state["publishing", process] = None
        return list(DONE)

    def _close_receives(self, state: State, thread: int, comm: int) -> Next:
        process = self._process(thread)
        state["closed receives", process, comm] = True
        state["shut", process] |= {comm}
        return list(DONE)

    def _close(self, state: State, thread: int, comm: int) -> Next:
        """close_meetings."""
        state["closed sends", self._process(thread), comm] = True
        return self._close_receives(state, thread, comm)

    # ---- completion: message/completion.cpp, message/finish.cpp

    def _take(self, state: State, thread: int, receives: tuple[str, ...]) -> Next:
        for r in receives:
            state["taken", r] = True
        return list(DONE)

    def _wait_all(self, state: State, thread: int, receives: tuple[str, ...], sends: tuple[str, ...]) -> Next:
        is_waiting = any(state["matched", r] is None for r in receives)
        if self.program.is_synchronous:
            is_waiting = is_waiting or any(state["met", m] is None and state["claim", m] is None for m in sends)
        return BLOCKED if is_waiting else list(DONE)

    def _end_it(self, state: State, thread: int, r: str) -> Next:
        """Offer::end_it, and unpacking."""
        return [(("finish", r), ("vacate", r)) if state["live", r] else (("complete", r),)]

    def _finish(self, state: State, thread: int, r: str) -> Next:
        process, slot = self.calls.receives[r].process, state["offer", r][0]
        if state["word", process, slot][2] == "offered":
            self._step(state, process, slot, "revoked", "receiver")
        return list(DONE)

    def _vacate(self, state: State, thread: int, r: str) -> Next:
        """A sender that has claimed it decides first."""
        process, slot = self.calls.receives[r].process, state["offer", r][0]
        word = state["word", process, slot][2]
        if word == "claimed":
            return BLOCKED
        self._step(state, process, slot, FIRST, "receiver")
        self._complete_as(state, r, word == "written")
        return list(DONE)

    def _complete(self, state: State, thread: int, r: str) -> Next:
        self._complete_as(state, r, False)
        return list(DONE)

    def _give_back(self, state: State, r: str) -> None:
        process, slot = self.calls.receives[r].process, state["offer", r][0]
        state["vacant", process] = (slot, *state["vacant", process])
        state["owner", process, slot], state["offer", r] = "", None

    def _complete_as(self, state: State, r: str, was_written: bool) -> None:
        """The bytes that the program finds."""
        if state["offer", r] is not None:
            self._give_back(state, r)
        matched = state["matched", r]
        state["done", r], state["live", r], state["taken", r] = True, False, False
        if matched == "cancelled":
            if was_written:
                raise Violation(f"{r} is cancelled, and written")
            return
        m, kind = matched
        if was_written != (kind == "marker"):
            what = "written" if was_written else "not written"
            raise Violation(f"{r} is {what}, and has met the {kind} {m}")
        if was_written and state["bytes", r] != m:
            raise Violation(f"{r} has met {m}, and has the bytes of {state['bytes', r]}")
        state["bytes", r], state["claim", m] = m, None

    def _adopt(self, state: State, thread: int, r: str) -> Next:
        state["orphans", self._process(thread)] += (r,)
        state["has work", self._process(thread)] = True
        return list(DONE)

    def _tend(self, state: State, thread: int) -> Next:
        """Freed receives that are complete."""
        process = self._process(thread)
        complete = [r for r in state["orphans", process] if state["matched", r] is not None]
        state["orphans", process] = tuple(r for r in state["orphans", process] if r not in complete)
        return [tuple(("end_it", r) for r in complete)]

    # ---- probes, cancellation, communicators

    def _announce_probes(self, state: State, thread: int) -> Next:
        state["probes", self._process(thread)] = True
        return list(DONE)

    def _probe(self, state: State, thread: int, name: str) -> Next:
        return list(DONE) if library.look(self.calls, state, name) else BLOCKED

    def _mprobe(self, state: State, thread: int, name: str) -> Next:
        return list(DONE) if library.take_matched(self.calls, state, name) else BLOCKED

    def _cancelling(self, r: str) -> tuple[Action, ...]:
        closing: tuple[Action, ...] = () if "cancel closes nothing" in self.faults else (("close_all",),)
        withdrawing: tuple[Action, ...] = (("lock",), ("withdraw",), ("unlock",), ("await",))
        if "cancel withdraws nothing" in self.faults:
            withdrawing = ()
        return (("flush",), *closing, *withdrawing, ("cancel_library", r))

    def _close_all(self, state: State, thread: int) -> Next:
        process = self._process(thread)
        for key in state:
            if key[0] == "closed sends" and key[1] == process:
                state[key] = True
                self._close_receives(state, thread, key[2])
        return list(DONE)

    def _withdraw(self, state: State, thread: int) -> Next:
        """Engine::withdraw_offers."""
        process = self._process(thread)
        if state["publishing", process] is not None:
            return BLOCKED
        live = [r for r, receive in self.calls.receives.items() if receive.process == process and state["live", r]]
        if "cancel withdraws managed alone" in self.faults:
            live = [r for r in live if not state["taken", r] and r not in state["orphans", process]]
        return [tuple(("revoke", r) for r in live)]

    def _revoke(self, state: State, thread: int, r: str) -> Next:
        if not state["live", r]:
            return list(DONE)
        process, slot = self.calls.receives[r].process, state["offer", r][0]
        word = state["word", process, slot][2]
        if word == "offered":
            self._step(state, process, slot, "revoked", "receiver")
        elif word != "revoked" or "cancel awaits revoked" in self.faults:
            state["await", thread] += (r,)
        return list(DONE)

    def _await(self, state: State, thread: int) -> Next:
        """The messages of claimed offers arrive first."""
        is_waiting = any(state["matched", r] is None for r in state["await", thread])
        if is_waiting and "cancel does not await" not in self.faults:
            return BLOCKED
        state["await", thread] = ()
        return list(DONE)

    def _cancel_library(self, state: State, thread: int, r: str) -> Next:
        library.cancel(self.calls, state, r)
        return list(DONE)

    def _end_lines(self, state: State, thread: int, comm: int) -> Next:
        """Mailbox::end: one line after the other."""
        process = self._process(thread)
        for line in range(self.n_lines[process]):
            key = state["line", process, line]
            if key[0] == comm:
                state["line", process, line] = (ENDED, *key[1:])
                return [(("end_lines", comm),)]
        return list(DONE)

    def _end_meetings(self, state: State, thread: int, comm: int) -> Next:
        state["shut", self._process(thread)] -= {comm}
        return list(DONE)
