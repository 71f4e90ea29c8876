"""Types of the options of commands: finite numbers, and files that a command writes."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

STANDARD_OUTPUT = Path("-")
Parameter: TypeAlias = "click.Parameter | None"
Context: TypeAlias = "click.Context | None"
if TYPE_CHECKING:
    PathType = click.Path[Path]
else:
    PathType = click.Path


class Integer(click.IntRange):
    """An integer in a range. The word is the same in help and errors; click says "integer range"."""

    name = "integer"


class Number(click.FloatRange):
    """A finite number in a range. The comparisons of click accept nan."""

    name = "number"

    def convert(self, value: Any, param: Parameter, ctx: Context) -> float:
        """The number."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number", param, ctx)
        return found


class OutputFile(PathType):
    """A file that the command writes at its end, or ``-`` for standard output.

    The option is refused before the command runs if the file cannot be written.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: Parameter, ctx: Context) -> Path:
        """The path."""
        path = Path(super().convert(value, param, ctx))
        folder = path.absolute().parent
        if path == STANDARD_OUTPUT:
            return path
        if not folder.is_dir():
            self.fail(f"{path} cannot be written: there is no folder {folder}", param, ctx)
        if not os.access(path if path.exists() else folder, os.W_OK):
            self.fail(f"{path} cannot be written: no permission", param, ctx)
        return path


def checked_names(_context: Context, option: click.Parameter, value: str | None) -> str | None:
    """The value; BadParameter if one of the names between its commas is empty."""
    if value is not None and not all(name.strip() for name in value.split(",")):
        raise click.BadParameter(f"{value!r} has an empty name", param=option)
    return value


def write_output(path: Path, text: str) -> None:
    """Write the text to the file or to standard output; OSError if that fails."""
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        path.write_text(text, encoding="utf-8", newline="")
