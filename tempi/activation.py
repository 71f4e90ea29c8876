"""``import tempi`` before mpi4py's MPI module: the shim receives the MPI calls, without LD_PRELOAD.

The dynamic linker binds the MPI calls of this module when it loads the module. It takes the functions of the
first global libraries of the process. Therefore, the shim is loaded globally just before the module. Without
an import of mpi4py's MPI module nothing happens.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from tempi._library import library
from tempi.run.shims import MPI4PY, abi_of, is_in_the_way, shim_for


class _Finder(MetaPathFinder):
    """Finds mpi4py's MPI module as all others do, and lets the shim be loaded before it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != MPI4PY:
            return None
        specs = (finder.find_spec(fullname, path, target) for finder in _others())
        spec = next(filter(None, specs), None)
        if spec and spec.loader and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)
        return spec


def _others() -> Iterator[Any]:
    """All finders but ours, also those of this module before it was reloaded.

    Left out: finders without ``find_spec``, which Python 3.12 ignores, and earlier ones ask themselves.
    """
    for finder in sys.meta_path:
        if not _is_ours(finder) and hasattr(finder, "find_spec"):
            yield finder


def _is_ours(finder: object) -> bool:
    return type(finder).__module__ == __name__


class _Loader(Loader):
    """Loads the shim, then the module; the module keeps no trace of it."""

    def __init__(self, inner: Loader) -> None:
        self._inner = inner

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        try:
            activate(Path(spec.origin or ""))
        except RuntimeError as error:
            warnings.warn(f"tempi is off: {error}", RuntimeWarning, stacklevel=2)
        create = getattr(self._inner, "create_module", None)  # which a loader need not have
        return create(spec) if create else None

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__:
            module.__spec__.loader = module.__loader__ = self._inner
        self._inner.exec_module(module)


def activate(mpi_module: Path) -> None:
    """Load the shim for the MPI library that an extension module is linked to, before the module is loaded.

    Raises
    ------
    RuntimeError
        If there is no shim for this library, or if the library is already loaded.
    """
    if is_in_the_way():
        return
    abi = abi_of(mpi_module)
    if abi is None:
        raise RuntimeError(f"{mpi_module} needs no MPI library that tempi knows")
    if hasattr(ctypes.CDLL(None), "MPI_Pack"):
        raise RuntimeError("an MPI library was loaded for the whole process before; start it with: tempi run")
    try:
        ctypes.CDLL(str(shim_for(abi)), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise RuntimeError(f"{error}; start the program with: tempi run") from error
    library.cache_clear()  # it may have been asked before, and be another one


def watch() -> None:
    """Activate TEMPI when mpi4py's MPI module is imported, or warn that it was imported earlier."""
    if is_in_the_way():
        return
    if MPI4PY not in sys.modules:
        let_pass()
        sys.meta_path.insert(0, _Finder())
    elif why := _why_off():
        # Frames of this function, of tempi/__init__.py and of the program: the last one's line is shown.
        warnings.warn(f"tempi is off: {why}", RuntimeWarning, stacklevel=3)


def let_pass() -> None:
    """Do not activate TEMPI when mpi4py's MPI module is imported."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not _is_ours(finder)]


def _why_off() -> str | None:
    try:
        would_handle = library().active()  # not where TEMPI_DISABLE is set
    except RuntimeError as error:
        return str(error)
    late = "mpi4py.MPI was imported before tempi. Import tempi first, or start the program with: tempi run"
    return late if would_handle else None
