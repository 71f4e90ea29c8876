"""Point-to-point MPI calls as a C program makes them: raw addresses and handles, `int` and `_c`, `MPI_` and `PMPI_`.

Errors are raised as mpi4py's MPI.Exception. Requests are C arrays of handles (`Requests`), statuses mpi4py's objects.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mpi4py import MPI

from support import calls

STATUS_BYTES = MPI._sizeof(MPI.Status())
_Handle: Any = ctypes.c_int if MPI._sizeof(MPI.REQUEST_NULL) == 4 else ctypes.c_void_p


class Piece(NamedTuple):
    """A buffer as the standard's triple."""

    address: int
    count: int
    datatype: MPI.Datatype


NOTHING = Piece(0, 0, MPI.BYTE)


class Requests:
    """An array of request handles; null unless filled by a call."""

    def __init__(self, size: int = 1) -> None:
        self.size = size
        self.handles = (_Handle * size)(*[calls.handle(MPI.REQUEST_NULL).value] * size)

    def at(self, i: int) -> Any:
        return ctypes.byref(self.handles, i * ctypes.sizeof(_Handle))

    def value(self, i: int = 0) -> Any:
        return _Handle(self.handles[i])

    def is_null(self, i: int = 0) -> bool:
        return bool(self.handles[i] == calls.handle(MPI.REQUEST_NULL).value)

    def put(self, i: int, other: Requests) -> None:
        """Takes over the request of an array of one."""
        self.handles[i] = other.handles[0]


def message_handle() -> Any:
    return _Handle(calls.handle(MPI.MESSAGE_NULL).value)


class Form(NamedTuple):
    """The symbol of an MPI function that is called."""

    prefix: str = "MPI_"
    large: bool = False

    def symbol(self, name: str) -> tuple[Callable[..., int], bool]:
        large = self.large and calls.library().has(f"MPI_{name}_c")
        symbol = f"{self.prefix}{name}{'_c' if large else ''}"
        everywhere = calls.program()._symbols
        return getattr(everywhere if hasattr(everywhere, symbol) else calls.library()._symbols, symbol), large

    def __call__(self, name: str, *arguments: object) -> None:
        """Arguments: Piece for the buffer triple, MPI objects for handles, numbers for ints, the rest as ctypes."""
        function, large = self.symbol(name)
        if code := function(*_flattened(arguments, large)):
            raise MPI.Exception(code)


PLAIN = Form()
FORMS = tuple(Form(prefix, large) for prefix in ("MPI_", "PMPI_") for large in (False, True))


def has(name: str) -> bool:
    return calls.library().has(f"MPI_{name}")


def _flattened(arguments: Sequence[object], large: bool) -> list[Any]:
    flat: list[Any] = []
    for argument in arguments:
        if isinstance(argument, Piece):
            count = ctypes.c_int64(argument.count) if large else ctypes.c_int(argument.count)
            flat += [ctypes.c_void_p(argument.address), count, calls.handle(argument.datatype)]
        elif isinstance(argument, MPI.Status):
            flat.append(ctypes.c_void_p(MPI._addressof(argument)))
        elif isinstance(argument, MPI.Comm):
            flat.append(calls.handle(argument))
        else:
            flat.append(argument)
    return flat


class Statuses:
    """An array of statuses for the calls that complete several requests."""

    def __init__(self, size: int) -> None:
        self._memory = ctypes.create_string_buffer(max(1, size) * STATUS_BYTES)
        self.pointer = ctypes.c_void_p(ctypes.addressof(self._memory))

    def at(self, i: int) -> MPI.Status:
        status = MPI.Status()
        ctypes.memmove(MPI._addressof(status), ctypes.addressof(self._memory) + i * STATUS_BYTES, STATUS_BYTES)
        return status
