"""libtempi.so as this process sees it: in the way of MPI calls, else a private copy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tempi import _html, _native
from tempi.run import shims


@dataclass(frozen=True)
class Option:
    """One row of the options table.

    Attributes
    ----------
    name : str
        Without the ``TEMPI_`` prefix of its environment variable.
    from_environment : bool
        True if the environment sets it; else `value` is the default.
    """

    name: str
    value: str
    default: str
    meaning: str
    from_environment: bool


@dataclass(frozen=True)
class Counter:
    """The calls of one MPI function that had one outcome.

    Attributes
    ----------
    outcome : str
        The handling of the calls, or the reason why they were passed on.
    bytes : int
        Payload of these calls.
    seconds : float
        Time inside handled calls; 0 for calls that were passed on, and without ``TEMPI_REPORT``.
    predicted_seconds : float
        Time that the profile predicts for the rows ``packing`` and ``unpacking``; 0 without a profile.
    """

    function: str
    outcome: str
    calls: int
    bytes: int
    seconds: float
    predicted_seconds: float


class Counters(list[Counter]):
    """Counters as a table, for people; as a list, for programs."""

    _COLUMNS = ("function", "outcome", "calls", "bytes", "seconds")

    def _rows(self) -> list[tuple[str | int | float, ...]]:
        return [(one.function, one.outcome, one.calls, one.bytes, round(one.seconds, 6)) for one in self]

    def __repr__(self) -> str:
        if not self:
            return "no calls counted"
        texts = [
            self._COLUMNS,
            *(
                tuple(f"{cell:,}" if isinstance(cell, (int, float)) else cell for cell in row)
                for row in self._rows()
            ),
        ]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        lines = (
            "  ".join(
                cell.ljust(n) if i < 2 else cell.rjust(n)
                for i, (cell, n) in enumerate(zip(row, widths, strict=True))
            )
            for row in texts
        )
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return _html.table("MPI calls", self._COLUMNS, self._rows())


def lib_path(abi: str | None = None) -> str:
    """Path of an installed ``libtempi.so``, for ``LD_PRELOAD``.

    Parameters
    ----------
    abi : "openmpi", "mpich" or "mpiabi", optional
        The shim of this MPI ABI; default: the library that loads the shim of the program's MPI.

    Raises
    ------
    RuntimeError
        If there is none for that MPI, or LD_PRELOAD cannot name it.
    """
    return str(shims.preload_path(abi))


@cache
def library() -> _native.Library:
    """The C interface of the ``libtempi.so`` in the way of MPI calls, else of one loaded privately.

    Raises
    ------
    RuntimeError
        If it cannot be loaded, or is of another version than this package.
    """
    return _native.Library(None if shims.is_in_the_way() else str(shims.any_shim()))


def enabled() -> bool:
    """True if ``libtempi.so`` is in the way of this process's MPI calls and handles them."""
    return library().preloaded and library().active()


def options() -> list[Option]:
    """All options with their values."""
    return [Option(**row) for row in library().options()]


def stats() -> Counters:
    """The outcomes of this process's MPI calls since its start or the last `reset_stats`."""
    return Counters(Counter(**row) for row in library().counters())


def reset_stats() -> None:
    """Set all counters to zero."""
    library().reset_counters()
