"""Any command with the shim preloaded into its ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from tempi.run.environment import library_path_with, preloaded_with, tempi_variables
from tempi.run.launchers import Launch, kind_of, launch
from tempi.run.shims import preload_path

# Open MPI sends through UCX, also without the networks for which it would do so by itself.
MCA_OF_UCX = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_opal_common_ucx_tls": "any",
    "OMPI_MCA_opal_common_ucx_devices": "any",
}


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
        ABI of the program's MPI; by default each rank finds it out.
    ucx : bool
        Let Open MPI send through the UCX of ``pip install tempi-mpi[ucx]``, which knows CUDA.

    Raises
    ------
    RuntimeError
        If there is no shim for that ABI, the launcher cannot be run, or `ucx` does not fit.
    """
    of_ranks = {"LD_PRELOAD": preloaded_with(preload_path(abi))}
    own = tempi_variables() | {f"TEMPI_{name}": value for name, value in (settings or {}).items()}
    if not ucx:
        return launch(command, of_ranks | own, {})
    if kind_of(command[0]) == "hydra" or abi not in (None, "openmpi"):
        raise RuntimeError("--ucx is for Open MPI; other libraries got their transport when they were built")
    of_ranks |= {"LD_LIBRARY_PATH": library_path_with(ucx_folder()), "TEMPI_CUDA_AWARE": "ucx"}
    return launch(command, of_ranks | own, MCA_OF_UCX)


def ucx_folder() -> Path:
    """The folder of the libraries of the package libucx."""
    spec = find_spec("libucx")
    if spec is None or spec.origin is None:
        raise RuntimeError("--ucx: the package libucx is missing: pip install 'tempi-mpi[ucx]'")
    return Path(spec.origin).parent / "lib"
