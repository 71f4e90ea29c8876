"""The ways of derived types with all calls of an exchange made, and timed, in C."""

from __future__ import annotations

import ctypes
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mpi4py import MPI

from bench.common.building import compile_binary
from bench.halo3d.setting import Message, Setting, Unavailable, address_of
from bench.halo3d.ways import RegionTypes

Handle: Any = ctypes.c_void_p if MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_void_p) else ctypes.c_int


class Messages(ctypes.Structure):
    """As in ``calls.cpp``."""

    _fields_ = (
        ("n", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("sent", ctypes.POINTER(Handle)),
        ("received", ctypes.POINTER(Handle)),
        ("destinations", ctypes.POINTER(ctypes.c_int)),
        ("sources", ctypes.POINTER(ctypes.c_int)),
        ("tags", ctypes.POINTER(ctypes.c_int)),
        ("comm", Handle),
        ("requests", ctypes.POINTER(Handle)),
    )


def compiled(folder: Path) -> Path:
    """The shared library of the calls.

    Raises
    ------
    Unavailable
        If there is no compiler for this MPI.
    """
    mpicc = shutil.which("mpicc", path=str(Path(sys.executable).parent)) or shutil.which("mpicc")
    if mpicc is None:
        raise Unavailable("mpicc is missing: install the MPI library's compiler wrappers")
    no_bindings = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    flags = ["-O2", "-shared", "-fPIC", *no_bindings]
    try:
        return compile_binary([mpicc], "halo3d/calls.cpp", folder / "calls.so", flags)
    except RuntimeError as error:
        raise Unavailable(str(error)) from error


@cache
def library() -> ctypes.CDLL:
    """The calls, compiled by this process."""
    with tempfile.TemporaryDirectory() as folder:
        calls = ctypes.CDLL(str(compiled(Path(folder))))
    calls.exchange.restype = calls.exchange_prepared.restype = None
    return calls


def _ints(values: Sequence[int]) -> Any:
    return (ctypes.c_int * len(values))(*values)


def _types(messages: Sequence[Message]) -> Any:
    return (Handle * len(messages))(*(MPI._handleof(message[0][2]) for message in messages))


class CTypes:
    """`ways.DerivedTypes` from C, or `ways.PersistentTypes`."""

    def __init__(self, setting: Setting, is_persistent: bool) -> None:
        self._types = RegionTypes(setting)
        sends, receives = self._types.messages(setting.place)
        n = len(sends)
        self._messages = Messages(
            n,
            address_of(setting.data),
            _types(sends),
            _types(receives),
            _ints([peer for _, peer, _ in sends]),
            _ints([peer for _, peer, _ in receives]),
            _ints([tag for _, _, tag in sends]),
            MPI._handleof(setting.comm),
            (Handle * (2 * n))(),
        )
        self._all = ctypes.byref(self._messages)
        self._is_persistent = is_persistent
        if is_persistent:
            library().prepare(self._all)
        self._exchange: Callable[..., None] = (
            library().exchange_prepared if is_persistent else library().exchange
        )

    def __call__(self) -> None:
        self.times(1)

    def times(self, n: int) -> list[float]:
        seconds = (ctypes.c_double * n)()
        self._exchange(self._all, n, seconds)
        return list(seconds)

    def free(self) -> None:
        if self._is_persistent:
            library().free_prepared(self._all)
        self._types.free()
