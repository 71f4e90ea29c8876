"""The protocol of direct messages as a model: what the threads of a few processes do, one atomic action at a time.

The actions (actions/) have the names and the order of the code's:
    calls.py            calls of the program                     interpose/
    pending_sends.py    pending sends, and their FIN messages    request/pending_sends.cpp, fin.cpp
    unmatched.py        sends that wait for their receives       request/unmatched_sends.cpp
    matcher.py          counts of a communicator, and closing    transport/ipc/matcher.cpp, undecided.cpp
    find_match.py       a send claims a published receive        ipc/published_receives.cpp: find_match, ipc.cpp: look
    bounce_buffer.py    bytes that go by a bounce buffer         transport/ipc/bounce_buffer.cpp, put.cpp: queue_chunks
    receives.py         a receive is published                   ipc/ipc.cpp, published_receives.cpp: post
    match_queues.py     match queues that are used again         segment/own_segment.cpp
    completion.py       the end of receives                      request/finish.cpp, ipc/published_receives.cpp: end_it
    withdraw.py         MPI_Cancel                               request/completion.cpp, ipc/published_receives.cpp

The state that they change is model_state.py's, the library below them library.py. Every change of the state of a
published receive goes through the table src/segment/published_receives.def. checks.py has the properties,
faults.py the mistakes that break them.

Left out: persistent and buffered requests, cancelled sends, receives that fail, messages that share a launch, the
progress thread (it does what calls do), full tables of match queues, processes that die, the short wait for a receiver
that probes, and bounds of time: a wait that has one lasts for ever here, so that one that needs it is a deadlock. The
match timeouts of sends that no call needs end at any time; these sends do not see that an undecided receive is posted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import actions.calls  # noqa: F401  (it imports all actions)
import library
from actions.action import ACTIONS, LOCAL, LOCAL_IF_ALONE, Action
from checks import check_end, check_matches
from library import State
from model_state import Model
from programs import Program

Log = tuple[tuple[int, Action], ...]  # thread, action; of the library: -1


class Protocol(Model):
    """The model of one program, as the search sees it. `log`: the actions of the latest successor."""

    def __init__(self, program: Program, faults: Iterable[str] = ()) -> None:
        super().__init__(program, faults)
        self.log: list[tuple[int, Action]] = []
        self._local = [LOCAL | LOCAL_IF_ALONE if is_alone else LOCAL for is_alone in self.is_alone]

    def successors(self, state: State) -> list[tuple[Log, State]]:
        """Each with the actions that lead there."""
        found = []
        for thread in self.threads:
            if state["todo", thread]:
                found += self._results(state, thread)
        for channel in self.calls.channels:
            if state[channel]:
                found.append(self._arrival(state, channel))
        return found

    def _arrival(self, state: State, channel: tuple[Any, ...]) -> tuple[Log, State]:
        after = dict(state)
        self.log = [(-1, ("brings", state[channel][0][0]))]
        text = library.arrive(self.calls, after, channel)
        check_matches(self, after, channel[-1])
        return ((-1, (text,)),), after

    def _results(self, state: State, thread: int) -> list[tuple[Log, State]]:
        after = dict(state)
        self.log = [(thread, state["todo", thread][0])]
        found = []
        for new in self._advance(after, thread):
            local = [(thread, action) for action in self.run_local(new, thread)]
            found.append(((*self.log, *local), new))
        return found

    def _advance(self, state: State, thread: int) -> list[State]:
        """The states after the next action of a thread; the state given is changed."""
        (name, *arguments), *rest = state["todo", thread]
        ways = ACTIONS[name](self, state, thread, *arguments)
        states = [state] + [dict(state) for _ in ways[1:]] if ways else []
        for one, way in zip(states, ways, strict=True):
            one["todo", thread] = (*way, *rest)
        return states

    def run_local(self, state: State, thread: int) -> list[Action]:
        """Carries out the local actions that come next."""
        done = []
        while (todo := state["todo", thread]) and todo[0][0] in self._local[thread]:
            done.append(todo[0])
            [after] = self._advance(state, thread)
            assert after is state
        return done

    def check_end(self, state: State) -> None:
        check_end(self, state)
