"""Any command with the shim preloaded into its ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from tempi.run.environment import library_path_with, preloaded_with, tempi_variables
from tempi.run.launchers import ABI_OF_LAUNCHER, Launch, kind_of, launch
from tempi.run.shims import abi_of_program, default_abi, preload_path

# Open MPI sends through UCX, also without the networks for which it would do so by itself.
MCA_OF_UCX = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_opal_common_ucx_tls": "any",
    "OMPI_MCA_opal_common_ucx_devices": "any",
}


def abi_for(command: Sequence[str]) -> str:
    """The ABI of the MPI that a command's ranks will use: their program's, else the launcher's.

    Raises
    ------
    RuntimeError
        If neither tells, and several shims are installed.
    """
    kind = kind_of(command[0])
    words = command[1:] if kind else command
    of_program = next(filter(None, map(abi_of_program, words)), None)
    return of_program or ABI_OF_LAUNCHER.get(kind or "") or default_abi()


def with_shim(
    command: Sequence[str],
    settings: Mapping[str, str] | None = None,
    *,
    abi: str | None = None,
    ucx: bool = False,
) -> Launch:
    """A command whose ranks get the shim, this process's TEMPI_ variables and `settings`.

    Parameters
    ----------
    command : sequence of str
        A launcher (Open MPI's, MPICH's, Intel's, ``srun``) with its arguments and the program; or a program.
    settings : mapping of str to str, optional
        Options of TEMPI by name, without ``TEMPI_``.
    abi : "openmpi", "mpich" or "mpiabi", optional
        ABI of the program's MPI; detected by default.
    ucx : bool
        Let Open MPI send through the UCX of ``pip install tempi[ucx]``, which knows CUDA.

    Raises
    ------
    RuntimeError
        If there is no shim for that MPI, the launcher cannot be run, or `ucx` does not fit.
    """
    chosen = abi or abi_for(command)
    of_ranks = {"LD_PRELOAD": preloaded_with(preload_path(chosen))}
    own = tempi_variables() | {f"TEMPI_{name}": value for name, value in (settings or {}).items()}
    if not ucx:
        return launch(command, of_ranks | own, {})
    if chosen != "openmpi":
        raise RuntimeError(f"--ucx is for Open MPI; {chosen} got its transport when it was built")
    of_ranks |= {"LD_LIBRARY_PATH": library_path_with(ucx_folder()), "TEMPI_CUDA_AWARE": "ucx"}
    return launch(command, of_ranks | own, MCA_OF_UCX)


def ucx_folder() -> Path:
    """The folder of the libraries of the package libucx."""
    spec = find_spec("libucx")
    if spec is None or spec.origin is None:
        raise RuntimeError("--ucx: the package libucx is missing: pip install 'tempi[ucx]'")
    return Path(spec.origin).parent / "lib"
