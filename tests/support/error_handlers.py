"""Error handlers that write down what they are told, on communicators, windows and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mpi4py import MPI

Told = tuple[str, int]  # whose handler, or the program ("code"); the class of the error


class Handlers:
    """While it lives, the handlers of MPI_COMM_SELF, MPI_COMM_WORLD and of what is watched note errors in `told`."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self._watched: list[tuple[Any, MPI.Errhandler]] = []
        self._made: list[MPI.Errhandler] = []

    def __enter__(self) -> Handlers:
        self.watch(MPI.COMM_SELF)
        self.watch(MPI.COMM_WORLD)
        return self

    def __exit__(self, *_: object) -> None:
        for of, handler in self._watched:
            of.Set_errhandler(handler)
        for made in self._made:
            made.Free()

    def watch(self, of: Any) -> None:
        name = "communicator" if isinstance(of, MPI.Comm) else "window" if isinstance(of, MPI.Win) else "file"
        made = type(of).Create_errhandler(self._teller(name))
        self._watched.append((of, of.Get_errhandler()))
        self._made.append(made)
        of.Set_errhandler(made)

    def _teller(self, whose: str) -> Callable[[object, int], None]:
        return lambda _, code: self.told.append((whose, MPI.Get_error_class(code)))

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """The program's own code is noted, too."""
        try:
            yield
        except MPI.Exception as error:
            self.told.append(("code", error.Get_error_class()))
