"""libtempi.so as this process sees it: the preloaded one, else a private copy that intercepts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tempi import _native


@dataclass(frozen=True)
class Option:
    """One row of the options table.

    Attributes
    ----------
    name : str
        Without the ``TEMPI_`` prefix of its environment variable.
    from_environment : bool
        Whether the environment sets it; else `value` is the default.
    """

    name: str
    value: str
    default: str
    meaning: str
    from_environment: bool


@dataclass(frozen=True)
class Counter:
    """What became of the calls of one MPI function.

    Attributes
    ----------
    outcome : str
        How the calls were handled, or why they were passed on.
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


def lib_path() -> str:
    """Path of the installed ``libtempi.so``: what to put into ``LD_PRELOAD``."""
    return str(Path(_native.__file__).parent / "lib" / "libtempi.so")


@cache
def library() -> _native.Library:
    """The C interface of the preloaded ``libtempi.so``, else of the installed one, loaded privately.

    Raises
    ------
    RuntimeError
        If it cannot be loaded, or is of another version than this package.
    """
    return _native.Library(lib_path())


def enabled() -> bool:
    """Whether ``libtempi.so`` is preloaded into this process and handles calls."""
    return library().preloaded and library().active()


def options() -> list[Option]:
    """All options with their values."""
    return [Option(**row) for row in library().options()]


def stats() -> list[Counter]:
    """What became of this process's MPI calls since its start or the last `reset_stats`."""
    return [Counter(**row) for row in library().counters()]


def reset_stats() -> None:
    """Set all counters to zero."""
    library().reset_counters()
