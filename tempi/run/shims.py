"""``libtempi.so``: the one for any MPI, and the shim of each MPI ABI that this installation has.

The first one loads the shim for the MPI library that the program uses (src/preload).
"""

from __future__ import annotations

import ctypes
import sys
from importlib.util import find_spec
from pathlib import Path

from tempi import _native
from tempi.run.preloading import preloadable

ABIS = ("openmpi", "mpich", "mpiabi")  # mpiabi is the MPI-5 standard's
MPI4PY = "mpi4py.MPI"


def package_folder() -> Path:
    """The folder of the installed package."""
    return Path(_native.__file__).parent


def installed() -> dict[str, Path]:
    """Path of the shim by ABI."""
    paths = {abi: package_folder() / "lib" / abi / "libtempi.so" for abi in ABIS}
    return {abi: path for abi, path in paths.items() if path.exists()}


def shim_for(abi: str) -> Path:
    """Path of the shim for an ABI.

    Raises
    ------
    RuntimeError
        If it is not installed.
    """
    found = installed()
    if abi not in found:
        raise RuntimeError(
            f"no libtempi.so for {abi} is installed, only for {', '.join(found) or 'nothing'}: "
            f"install the wheel, or build for that MPI's mpicc: MPICC=... pip install ."
        )
    return found[abi]


def proxy_path(abi: str | None = None) -> Path:
    """The library that programs open in place of the MPI library, to look up MPI functions in its handle.

    `abi`: by default that of this process's mpi4py, else the only one that is installed.

    Raises
    ------
    RuntimeError
        If it is not installed, or its ABI has to be given.
    """
    found = installed()
    chosen = abi or (next(iter(found)) if len(found) == 1 else abi_of_this_python())
    if chosen is None:
        raise RuntimeError(f"which MPI is it for? name its ABI: {', '.join(found)}")
    return shim_for(chosen).with_name("libtempi_mpi.so")


def preload_path(abi: str | None = None) -> Path:
    """The ``libtempi.so`` for any MPI or an ABI's shim, as LD_PRELOAD names it.

    Raises
    ------
    RuntimeError
        If it is not installed, or LD_PRELOAD cannot name it.
    """
    library = shim_for(abi) if abi else package_folder() / "lib" / "libtempi.so"
    if not library.exists():
        raise RuntimeError(f"there is no {library}: install the package tempi-mpi again")
    return preloadable(library, package_folder())


def abi_of(file: Path) -> str | None:
    """The ABI of the MPI library that a program or library needs; None if it needs none."""
    return _native.abi_needed_by(str(file)) or None


def abi_of_this_python() -> str | None:
    """The ABI of the MPI that this process's mpi4py uses or would use; None without mpi4py or its MPI."""
    module = sys.modules.get(MPI4PY)
    try:
        spec = module.__spec__ if module else find_spec(MPI4PY)
    except (ImportError, RuntimeError):
        return None
    return abi_of(Path(spec.origin)) if spec and spec.origin else None


def any_shim() -> Path:
    """The shim that understands this process's MPI handles if possible; they all have the same options."""
    found = installed()
    if len(found) == 1:
        return next(iter(found.values()))
    return shim_for(abi_of_this_python() or next(iter(found), "any MPI"))


def is_in_the_way() -> bool:
    """True if a shim was loaded for the whole process: by LD_PRELOAD, or by `tempi.activation`."""
    return hasattr(ctypes.CDLL(None), "tempi_api")
