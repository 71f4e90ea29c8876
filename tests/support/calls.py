"""MPI calls as a C program makes them: raw addresses, any count, any handle, the int and the large-count forms.

`program()` has the functions that an unmodified program reaches (the shim's, if preloaded); `library()` is the MPI
library itself, past any shim. Errors are returned as MPI error classes, 0 for success.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mpi4py import MPI

_LIBRARY = re.compile(r"/\S*/libmpi(?:ch|_abi)?\.so[.\d]*$", re.MULTILINE)


@cache
def library_path() -> str:
    """The MPI library in this process. mpi4py loads it where no global symbol lookup finds it."""
    found = _LIBRARY.findall(Path("/proc/self/maps").read_text())
    if not found:
        raise RuntimeError("no MPI library is loaded")
    return str(found[0])


def handle(mpi_object: MPI.Datatype | MPI.Comm) -> ctypes.c_int | ctypes.c_void_p:
    kind = ctypes.c_int if MPI._sizeof(mpi_object) == 4 else ctypes.c_void_p
    return kind.from_address(MPI._addressof(mpi_object))


class Result(NamedTuple):
    error: int  # MPI error class
    position: int


class Calls:
    def __init__(self, symbols: ctypes.CDLL | _PastShim) -> None:
        self._symbols = symbols

    def has(self, function: str) -> bool:
        return hasattr(self._symbols, function)

    def pack(
        self,
        source: int,
        count: int,
        datatype: MPI.Datatype,
        target: int,
        size: int,
        position: int = 0,
        function: str = "MPI_Pack",
    ) -> Result:
        number = _count_type(function)
        at = number(position)
        error = self._call(
            function, ctypes.c_void_p(source), number(count), handle(datatype), ctypes.c_void_p(target), number(size),
            ctypes.byref(at), handle(MPI.COMM_SELF),
        )  # fmt: skip
        return Result(error, at.value)

    def unpack(
        self,
        source: int,
        size: int,
        target: int,
        count: int,
        datatype: MPI.Datatype,
        position: int = 0,
        function: str = "MPI_Unpack",
    ) -> Result:
        number = _count_type(function)
        at = number(position)
        error = self._call(
            function, ctypes.c_void_p(source), number(size), ctypes.byref(at), ctypes.c_void_p(target), number(count),
            handle(datatype), handle(MPI.COMM_SELF),
        )  # fmt: skip
        return Result(error, at.value)

    def pack_external(
        self,
        source: int,
        count: int,
        datatype: MPI.Datatype,
        target: int,
        size: int,
        position: int = 0,
        suffix: str = "",
        representation: str = "external32",
    ) -> Result:
        at = ctypes.c_int64(position)
        error = self._call(
            f"MPI_Pack_external{suffix}", representation.encode(), ctypes.c_void_p(source), _count_type(suffix)(count),
            handle(datatype), ctypes.c_void_p(target), ctypes.c_int64(size), ctypes.byref(at),
        )  # fmt: skip
        return Result(error, at.value)

    def unpack_external(
        self,
        source: int,
        size: int,
        target: int,
        count: int,
        datatype: MPI.Datatype,
        position: int = 0,
        suffix: str = "",
        representation: str = "external32",
    ) -> Result:
        at = ctypes.c_int64(position)
        error = self._call(
            f"MPI_Unpack_external{suffix}", representation.encode(), ctypes.c_void_p(source), ctypes.c_int64(size),
            ctypes.byref(at), ctypes.c_void_p(target), _count_type(suffix)(count), handle(datatype),
        )  # fmt: skip
        return Result(error, at.value)

    def commit(self, datatype: MPI.Datatype) -> int:
        return self._call("MPI_Type_commit", ctypes.c_void_p(MPI._addressof(datatype)))

    def _call(self, function: str, *arguments: object) -> int:
        code = getattr(self._symbols, function)(*arguments)
        return MPI.Get_error_class(code) if code else 0


def _count_type(function: str) -> type[ctypes.c_int] | type[ctypes.c_int64]:
    return ctypes.c_int64 if function.endswith("_c") else ctypes.c_int


class _PastShim:
    """The functions of a library, past a shim that stands in for dlsym."""

    def __init__(self, path: str) -> None:
        self._library, self._look_up = ctypes.CDLL(path), ctypes.CDLL("libc.so.6").dlsym
        self._look_up.argtypes, self._look_up.restype = (ctypes.c_void_p, ctypes.c_char_p), ctypes.c_void_p

    def __getattr__(self, name: str) -> Any:
        address = self._look_up(self._library._handle, name.encode())
        if not address:
            raise AttributeError(name)
        return self._library._FuncPtr(address)


@cache
def library() -> Calls:
    return Calls(_PastShim(library_path()))


@cache
def program() -> Calls:
    everywhere = Calls(ctypes.CDLL(None))
    return everywhere if everywhere.has("MPI_Pack") else library()
