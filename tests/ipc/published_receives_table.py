"""The states of a published receive and the steps between them, from the table that the library is compiled from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).resolve().parent.parent.parent / "src/segment/published_receives.def"
FIRST = "vacant"


class Step(NamedTuple):
    start: str
    end: str
    actor: str


def _rows(pattern: str) -> list[tuple[str, ...]]:
    return re.findall(pattern, TABLE.read_text(), re.MULTILINE)


STATES = {name for name, _ in _rows(r'^TEMPI_PUBLISHED_STATE\((\w+), "([^"]+)"\)$')}
STEPS = {Step(*row[:3]) for row in _rows(r'^TEMPI_PUBLISHED_STEP\((\w+), (\w+), (\w+), "([^"]+)"\)$')}


def n_rows() -> int:
    return len([line for line in TABLE.read_text().splitlines() if line.startswith("TEMPI_")])
