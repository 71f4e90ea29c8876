"""The ``libtempi.so`` of each MPI ABI that this installation has, and the ABI that a program needs."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tempi import _native
from tempi.run.launchers import ABI_OF_LAUNCHER, find_mpirun, kind_of
from tempi.run.preloading import preloadable

# The libraries that programs are linked to, by ABI; mpiabi is the MPI-5 standard's.
LIBRARIES = {
    "openmpi": ("libmpi.so.40",),
    "mpich": ("libmpi.so.12", "libmpich.so.12"),
    "mpiabi": ("libmpi_abi.so.1", "libmpi_abi.so.0"),
}
MPI4PY = "mpi4py.MPI"
_ASK_PYTHON = f"from importlib.util import find_spec; print(find_spec({MPI4PY!r}).origin)"
_PYTHON_SECONDS = 60.0


def package_folder() -> Path:
    """The folder of the installed package."""
    return Path(_native.__file__).parent


def installed() -> dict[str, Path]:
    """Path of ``libtempi.so`` by ABI."""
    paths = {abi: package_folder() / "lib" / abi / "libtempi.so" for abi in LIBRARIES}
    return {abi: path for abi, path in paths.items() if path.exists()}


def shim_for(abi: str) -> Path:
    """Path of the ``libtempi.so`` for an ABI.

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


def preload_path(abi: str) -> Path:
    """The same for LD_PRELOAD.

    Raises
    ------
    RuntimeError
        If it is not installed, or LD_PRELOAD cannot name it.
    """
    return preloadable(shim_for(abi), package_folder())


def abi_of(file: Path) -> str | None:
    """The ABI of the MPI library that a program or library names as needed; None if it names none.

    A library that is needed only through another one is not seen.
    """
    # Imported here: not every import of tempi needs it.
    from elftools.common.exceptions import ELFError
    from elftools.elf.dynamic import DynamicSegment
    from elftools.elf.elffile import ELFFile

    try:
        with file.open("rb") as stream:
            segments = ELFFile(stream).iter_segments()
            tags = [tag for s in segments if isinstance(s, DynamicSegment) for tag in s.iter_tags()]
    except (OSError, ELFError):
        return None
    needed = {getattr(tag, "needed", None) for tag in tags}
    return next((abi for abi, names in LIBRARIES.items() if needed.intersection(names)), None)


def abi_of_program(word: str) -> str | None:
    """The ABI of the MPI used by a word of a command line: a program, or a Python's mpi4py."""
    path = shutil.which(word)
    if path is None:
        return None
    if not re.fullmatch(r"python[\d.]*", Path(path).name):
        return abi_of(Path(path))
    command = [path, "-c", _ASK_PYTHON]
    try:
        asked = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_PYTHON_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = asked.stdout.strip().rpartition("\n")[2]  # after the output of site modules, if any
    return abi_of(Path(said)) if asked.returncode == 0 else None


def abi_of_this_python() -> str | None:
    """The ABI of the MPI that this process's mpi4py uses or would use; None without mpi4py or its MPI."""
    module = sys.modules.get(MPI4PY)
    try:
        spec = module.__spec__ if module else find_spec(MPI4PY)
    except (ImportError, RuntimeError):
        return None
    return abi_of(Path(spec.origin)) if spec and spec.origin else None


def default_abi() -> str:
    """The default ABI: the only one installed, else that of this Python's mpi4py or mpirun.

    Raises
    ------
    RuntimeError
        If several are installed and there is neither mpi4py nor mpirun, or if none is installed.
    """
    found = list(installed())
    abi = found[0] if len(found) == 1 else abi_of_this_python() or _abi_of_mpirun()
    if abi is None:
        raise RuntimeError(
            f"which MPI? There is neither mpi4py nor mpirun here, and libtempi.so is installed for "
            f"{', '.join(found) or 'nothing'}: say --abi, in Python tempi.lib_path(abi)"
        )
    return abi


def _abi_of_mpirun() -> str | None:
    try:
        return ABI_OF_LAUNCHER.get(kind_of(find_mpirun()) or "")
    except RuntimeError:
        return None


def any_shim() -> Path:
    """The shim that understands this process's MPI handles if possible; they all have the same options."""
    found = installed()
    if len(found) == 1:
        return next(iter(found.values()))
    return shim_for(abi_of_this_python() or next(iter(found), "any MPI"))


def is_in_the_way() -> bool:
    """True if a shim was loaded for the whole process: by LD_PRELOAD, or by `tempi.activation`."""
    return hasattr(ctypes.CDLL(None), "tempi_api")
