"""The ``libtempi.so`` of this process: the library that receives the MPI calls, or a private copy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tempi import _html, _native
from tempi.run import shims

# As in parse_flag, src/base/options.cpp.
WORDS_OF_FLAGS = {"on": 1, "true": 1, "yes": 1, "off": 0, "false": 0, "no": 0}


@dataclass(frozen=True)
class Option:
    """An option of TEMPI.

    Attributes
    ----------
    name : str
        The name of its environment variable without ``TEMPI_``.
    value : str
        The value in this process.
    default : str
        The value if the environment does not set it.
    meaning : str
        Its meaning.
    from_environment : bool
        True if the environment sets it.
    """

    name: str
    value: str
    default: str
    meaning: str
    from_environment: bool


def number_of(value: str) -> int:
    """The value of an option that is a flag or a number; 0 if it is empty."""
    return WORDS_OF_FLAGS[value] if value in WORDS_OF_FLAGS else int(value or 0)


@dataclass(frozen=True)
class Counter:
    """The calls of one MPI function with the same outcome.

    Attributes
    ----------
    function : str
        The MPI function.
    outcome : str
        How TEMPI handled the calls, or why it passed them on to the MPI library.
    calls : int
        Number of calls.
    bytes : int
        Payload of these calls.
    seconds : float
        Time in handled calls. It is 0 for calls that were passed on, and without ``TEMPI_REPORT``.
    predicted_seconds : float
        Time that the profile predicts, for the functions ``packing`` and ``unpacking``. It is 0 without a
        profile.
    """

    function: str
    outcome: str
    calls: int
    bytes: int
    seconds: float
    predicted_seconds: float


class Counters(list[Counter]):
    """A list of counters; as text and in notebooks it is a table."""

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
    """The path of ``libtempi.so``, for ``LD_PRELOAD``.

    Parameters
    ----------
    abi : {"openmpi", "mpich", "mpiabi"}, optional
        The shim for this ABI. By default, the path is that of the library that detects the MPI library of the
        program and loads the matching shim.

    Raises
    ------
    ValueError
        If `abi` is not one of these.
    RuntimeError
        If there is no shim for that ABI, or if LD_PRELOAD cannot hold the path.
    """
    if abi is not None and abi not in shims.ABIS:
        raise ValueError(f"abi is {abi!r}; it must be one of {', '.join(map(repr, shims.ABIS))}, or None")
    return str(shims.preload_path(abi))


@cache
def library() -> _native.Library:
    """The C interface of the ``libtempi.so`` that receives the MPI calls, else of a private copy.

    Raises
    ------
    RuntimeError
        If it cannot be loaded, or is of another version than this package.
    """
    return _native.Library(None if shims.is_in_the_way() else str(shims.any_shim()))


def enabled() -> bool:
    """True if TEMPI is on: ``libtempi.so`` receives the MPI calls of this process."""
    return library().preloaded and library().active()


def options() -> list[Option]:
    """All options of TEMPI with their values in this process."""
    return [Option(**row) for row in library().options()]


def stats() -> Counters:
    """The MPI calls of this process and their outcomes, since its start or the last `reset_stats`.

    Without ``TEMPI_REPORT=1``, TEMPI does not count all calls that it passes on to the MPI library.
    """
    return Counters(Counter(**row) for row in library().counters())


def reset_stats() -> None:
    """Set all counters to zero."""
    library().reset_counters()
