"""Error handlers that write down what they are told, on communicators, windows and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from mpi4py import MPI

Told = tuple[str, int]  # whose handler, or the program ("code"); the class of the error
_told: list[Told] = []
_NAMES = {MPI.Comm: "communicator", MPI.Win: "window", MPI.File: "file"}


@cache
def _handler(kind: type) -> MPI.Errhandler:
    """One for each kind and process: mpi4py has few."""
    return kind.Create_errhandler(_teller(_NAMES[kind]))  # type: ignore[attr-defined,no-any-return]


def _teller(whose: str) -> Callable[[object, int], None]:
    return lambda _, code: _told.append((whose, MPI.Get_error_class(code)))


class Handlers:
    """While it lives, the handlers of MPI_COMM_SELF, MPI_COMM_WORLD and of what is watched note errors in `told`."""

    def __init__(self) -> None:
        self.told = _told
        self._watched: list[tuple[Any, MPI.Errhandler]] = []

    def __enter__(self) -> Handlers:
        self.told.clear()
        self.watch(MPI.COMM_SELF)
        self.watch(MPI.COMM_WORLD)
        return self

    def __exit__(self, *_: object) -> None:
        for of, handler in self._watched:
            of.Set_errhandler(handler)

    def watch(self, of: Any) -> None:
        [kind] = [kind for kind in _NAMES if isinstance(of, kind)]
        self._watched.append((of, of.Get_errhandler()))
        of.Set_errhandler(_handler(kind))

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """The program's own code is noted, too."""
        try:
            yield
        except MPI.Exception as error:
            self.told.append(("code", error.Get_error_class()))
