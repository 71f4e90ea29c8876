"""Collective MPI calls as a C program makes them: raw addresses, arrays of counts and handles, all forms of a name."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mpi4py import MPI

from support import calls
from support.p2p import Form, Requests

LIFETIMES = ("blocking", "nonblocking", "persistent")
IN_PLACE = ctypes.c_void_p(1 if "Open MPI" in MPI.Get_library_version() else 2**64 - 1)


@dataclass
class Numbers:
    """Counts (`int`, or large), displacements (`int`, or MPI_Aint), or always MPI_Aint."""

    values: Sequence[int]
    is_wide: bool = False  # in every form

    def array(self, large: bool) -> Any:
        kind = ctypes.c_int64 if large or self.is_wide else ctypes.c_int
        return (kind * max(1, len(self.values)))(*self.values)


@dataclass
class Number:
    """One count."""

    value: int


@dataclass
class Types:
    values: Sequence[MPI.Datatype]

    def array(self) -> Any:
        kind = type(calls.handle(MPI.BYTE))
        return (kind * max(1, len(self.values)))(*[calls.handle(one).value for one in self.values])


def name_of(operation: str, lifetime: str) -> str:
    """'Gather', 'Igather' or 'Gather_init'."""
    if lifetime == "nonblocking":
        return f"I{operation.lower()}"
    return f"{operation}_init" if lifetime == "persistent" else operation


@dataclass
class Call:
    """A call that may be under way: its arrays live as long."""

    form: Form
    operation: str
    arguments: tuple[object, ...]
    lifetime: str = "blocking"
    request: Requests = field(default_factory=Requests)
    _kept: list[Any] = field(default_factory=list)

    def start(self) -> None:
        if self.lifetime == "persistent" and not self.request.is_null():
            return self._begin()
        function, large = self._function(name_of(self.operation, self.lifetime))
        self._kept = [self._word(argument, large) for argument in self.arguments]
        words = list(self._kept)
        if self.lifetime == "persistent":
            words.append(calls.handle(MPI.INFO_NULL))
        if self.lifetime != "blocking":
            words.append(self.request.at(0))
        self._check(function(*words))
        if self.lifetime == "persistent":
            self._begin()
        return None

    def finish(self) -> None:
        if self.lifetime != "blocking":
            wait, _ = self._function("Wait")
            status = MPI.Status()
            self._check(wait(self.request.at(0), ctypes.c_void_p(MPI._addressof(status))))

    def free(self) -> None:
        if not self.request.is_null():
            self._check(self._function("Request_free")[0](self.request.at(0)))

    def _begin(self) -> None:
        self._check(self._function("Start")[0](self.request.at(0)))

    def _function(self, name: str) -> tuple[Callable[..., int], bool]:
        return self.form.symbol(name)

    @staticmethod
    def _word(argument: object, large: bool) -> Any:
        if isinstance(argument, Numbers):
            return argument.array(large)
        if isinstance(argument, Number):
            return ctypes.c_int64(argument.value) if large else ctypes.c_int(argument.value)
        if isinstance(argument, Types):
            return argument.array()
        if isinstance(argument, MPI.Datatype | MPI.Comm | MPI.Op):
            return calls.handle(argument)  # type: ignore[arg-type]
        return argument

    @staticmethod
    def _check(code: int) -> None:
        if code:
            raise MPI.Exception(code)


def check_drawn(draw_case: Callable[[int], Any], check_case: Callable[[Any], None], seeds: list[int]) -> int:
    """Checks the cases of these seeds and returns their number; a failure names its seed and its case."""
    for seed in seeds:
        case = draw_case(seed)
        try:
            check_case(case)
        except Exception as error:
            raise AssertionError(f"rank {MPI.COMM_WORLD.Get_rank()}, seed {seed}: {case}\n{error}") from error
        MPI.COMM_WORLD.Barrier()
    return len(seeds)
