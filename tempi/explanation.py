"""Explanations of datatypes: the tree as built, its canonical form, its boxes and their plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from tempi._arguments import integer
from tempi._library import library
from tempi._words import counted
from tempi.handles import handle_of
from tempi.model.features import Features

if TYPE_CHECKING:
    from mpi4py import MPI
    from rich.console import RenderableType


MOST_COUNT = 2**63 - 1  # MPI_Count
# From the first element to the last. The time to plan grows with the square of the number of launches.
MOST_BYTES = 2**44


LAUNCH = "1 launch of"  # src/pack/describe.cpp
MOST_LAUNCH_LINES = 8


class ExplainError(ValueError):
    """The datatype cannot be explained."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """How TEMPI handles a datatype, as texts. ``print`` and notebooks show all texts.

    Attributes
    ----------
    as_built : str
        The tree of loops that the constructors of the datatype describe.
    canonical : str
        The canonical form of the tree. Datatypes that describe the same bytes have the same canonical form.
    boxes : str
        The boxes of the datatype: nests of loops over one contiguous block. Offsets and strides are in bytes.
    plan : str
        Word size, tiles and launches of the GPU kernel.
    features : tempi.model.features.Features
        The numbers that the predicted time depends on.
    contiguous : bool
        True if the data is one contiguous block.
    indexed : bool
        True if a table lists the offsets of blocks.
    """

    as_built: str
    canonical: str
    boxes: str
    plan: str
    features: Features
    contiguous: bool
    indexed: bool

    def _stages(self) -> Iterator[tuple[str, str]]:
        yield "as built", self.as_built
        yield "canonical", self.canonical
        yield "boxes", self.boxes
        yield "plan", self.plan

    def __str__(self) -> str:
        return "\n\n".join(f"{title}\n{_indented(text)}" for title, text in self._stages())

    def __repr__(self) -> str:
        blocks = "one contiguous block" if self.contiguous else counted(self.features.blocks, "block")
        places = " at offsets from a table" if self.indexed else ""
        return f"<Explanation of {counted(int(self.features.bytes), 'byte')} in {blocks}{places}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<h4>{title}</h4><pre>{escape(text.rstrip())}</pre>" for title, text in self._stages()
        )
        return f"<p>{escape(repr(self).strip('<>'))}</p>{rows}"

    def __rich__(self) -> RenderableType:
        # Imported here, so that the ranks of a program do not load rich.
        from rich.console import Group
        from rich.panel import Panel
        from rich.text import Text

        stages = self._stages()
        return Group(*(Panel(Text(text.rstrip()), title=title, title_align="left") for title, text in stages))

    def print(self) -> None:
        """Print with panels, in colours if the output is a terminal and ``NO_COLOR`` is not set."""
        from rich.console import Console

        Console().print(self)


def merged_launches(plan: str) -> str:
    """The plan with one line for equal launches, and with at most `MOST_LAUNCH_LINES` lines of launches."""
    lines = Counter(plan.splitlines())
    text = [line if n == 1 else _several(line, n) for line, n in lines.items()]
    launches = [number for number, line in enumerate(lines) if LAUNCH in line]
    if len(launches) > MOST_LAUNCH_LINES:
        rest = {*launches[MOST_LAUNCH_LINES:]}
        left_out = sum(n for number, n in enumerate(lines.values()) if number in rest)
        text = [line for number, line in enumerate(text) if number not in rest]
        text.append(f"... {left_out:,} more launches")
    return "".join(f"{line}\n" for line in text)


def _several(line: str, n: int) -> str:
    return line.replace(LAUNCH, f"{n:,} launches of", 1).replace(", words", ", each with words", 1)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip().splitlines())


def explain(datatype: MPI.Datatype, count: int = 1) -> Explanation:
    """Explain how TEMPI handles a datatype. This also works if TEMPI is off.

    Parameters
    ----------
    datatype : mpi4py.MPI.Datatype
        A datatype, committed or not.
    count : int
        Number of elements to transfer.

    Raises
    ------
    ExplainError
        If `count` is negative or too large, if the datatype has been freed, or if TEMPI does not understand
        it.
    RuntimeError
        If ``libtempi.so`` cannot be loaded.
    TypeError
        If `datatype` is not a datatype, or `count` is not an integer.
    """
    handle, count = handle_of(datatype), integer("count", count)
    if not datatype:
        raise ExplainError("datatype is MPI.DATATYPE_NULL: the datatype has been freed, or was never made")
    if not 0 <= count <= MOST_COUNT:
        raise ExplainError(f"count is {count}; it must be from 0 to 2^63 - 1")
    _, extent = datatype.Get_extent()
    n_bytes = max(abs(extent), datatype.Get_size())
    if count * n_bytes > MOST_BYTES:
        size = counted(n_bytes, "byte")
        most = f"{MOST_BYTES >> 40} TiB from the first element to the last"
        raise ExplainError(f"count is {count}, of elements of {size}: explain plans at most {most}")
    texts = library().explain(handle, count)
    if texts["error"]:
        raise ExplainError(texts["error"])
    stages = texts["as_built"], texts["canonical"], texts["boxes"], merged_launches(texts["plan"])
    return Explanation(*stages, Features(*texts["features"]), texts["contiguous"], texts["indexed"])
