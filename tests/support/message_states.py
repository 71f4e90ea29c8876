"""The states of a message and the steps between them, from the table that the library is compiled from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).resolve().parent.parent.parent / "src/request/states.def"
FIRST = "inactive"


class Step(NamedTuple):
    """The names of the functions that take a step, and what causes it."""

    functions: list[str]
    cause: str


class State(NamedTuple):
    """The source of completion in this state, and its invariant."""

    completion: str
    invariant: str


def states() -> dict[str, State]:
    rows = re.findall(r'^TEMPI_STATE\((\w+), (\w+), "([^"]+)"\)$', TABLE.read_text(), re.MULTILINE)
    return {name: State(completion, invariant) for name, completion, invariant in rows}


def steps() -> dict[tuple[str, str], Step]:
    """By the states before and after it."""
    rows = re.findall(r'^TEMPI_STEP\((\w+), (\w+), "([^"]+)", "([^"]+)"\)$', TABLE.read_text(), re.MULTILINE)
    return {(start, end): Step(functions.split(", "), cause) for start, end, functions, cause in rows}


def reachable(start: str) -> set[str]:
    found, new = {start}, {start}
    while new:
        new = {end for begin, end in steps() if begin in new} - found
        found |= new
    return found
