"""Actions: the atomic steps of threads.

An action is a function of the model, the state, the thread and its arguments. It changes the state and returns how its
thread may go on: a list of sequences of actions, each to be tried. Actions are named in sequences by (name, arguments).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Action = tuple[Any, ...]  # name, arguments
Next = list[tuple[Action, ...]]
DONE: Next = [()]  # the thread goes on with what was to follow
BLOCKED: Next = []  # it waits; the state is as it was
Function = Callable[..., Next]

ACTIONS: dict[str, Function] = {}
LOCAL: set[str] = set()
LOCAL_IF_ALONE: set[str] = set()


def action(function: Function) -> Function:
    """One that other threads and processes may come before and after."""
    ACTIONS[function.__name__] = function
    return function


def local(function: Function) -> Function:
    """One that no other thread sees, or only one that waits for the lock: it is part of the action before it."""
    LOCAL.add(function.__name__)
    return action(function)


def local_if_alone(function: Function) -> Function:
    """The same, if the process has one thread."""
    LOCAL_IF_ALONE.add(function.__name__)
    return action(function)
