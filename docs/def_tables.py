"""Reads the tables of `src/`: files of rows TEMPI_KIND(argument, ...), one a line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

SRC = Path(__file__).resolve().parent.parent / "src"
_ROW = re.compile(r"^TEMPI_([A-Z]+)\((.*)\)$", re.MULTILINE)
_ARGUMENT = re.compile(r'"(?:[^"\\]|\\.)*"|\([^()]*\)|[^\s,][^,]*')


class Row(NamedTuple):
    """One row of a table."""

    kind: str
    arguments: list[str]


def rows(*tables: str) -> list[Row]:
    """The rows of tables such as "base/options.def" in their order. Texts are without their quotes."""
    found = _ROW.findall("".join((SRC / table).read_text() for table in tables))
    return [
        Row(kind, [text.strip('"') for text in _ARGUMENT.findall(arguments)]) for kind, arguments in found
    ]
