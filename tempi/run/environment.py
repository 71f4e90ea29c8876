"""Variables of launchers, the loader and the session, from the native module, which reads the environment.

TEMPI's own variables are rows of the options table: `tempi.options`, and `cache_folder` of the native module.
"""

from __future__ import annotations

import os
from pathlib import Path

from tempi import _native

# Set in every rank: by Open MPI, by launchers that speak PMIx, by those that speak PMI, by Intel MPI.
RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MPI_LOCALRANKID")
# By Open MPI, Intel MPI and srun. Hydra sets the rank in the job only: on the first node it is the same.
LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "PMI_RANK")


def variables() -> dict[str, str]:
    """The environment as it is now."""
    pairs = (os.fsdecode(entry).partition("=") for entry in _native.variables())
    return {name: value for name, _, value in pairs}


def is_inside_job() -> bool:
    """True if an MPI launcher started this process."""
    return not variables().keys().isdisjoint(RANKS)


def local_rank() -> int:
    """This process's rank on its node, from its launcher's variables; 0 if not set."""
    found = variables()
    return next((int(found[name]) for name in LOCAL_RANKS if name in found), 0)


def tempi_variables() -> dict[str, str]:
    """Every TEMPI_ variable as it is, for ranks that a launcher starts without this environment.

    The options table cannot tell them: it has neither misspelt names nor refused values, of which the shim of
    the ranks is to warn.
    """
    return {key: value for key, value in variables().items() if key.startswith("TEMPI_")}


def without_preload() -> dict[str, str]:
    """The environment but for LD_PRELOAD, which is for ranks and not for their launcher."""
    return {key: value for key, value in variables().items() if key != "LD_PRELOAD"}


def preloaded_with(library: Path) -> str:
    """LD_PRELOAD with `library` appended; another TEMPI is removed."""
    return joined_preload(variables().get("LD_PRELOAD", ""), str(library))


def joined_preload(first: str, last: str) -> str:
    """Join two values of LD_PRELOAD, each library once; the library of TEMPI comes from the last one."""
    own = preloads(last)
    names = {Path(path).name for path in own}
    return ":".join([*(path for path in preloads(first) if Path(path).name not in names), *own])


def preloads(value: str) -> list[str]:
    """The libraries that a value of LD_PRELOAD names."""
    return value.replace(":", " ").split()


def library_path_with(folder: Path) -> str:
    """LD_LIBRARY_PATH with `folder` first: the user's own folders stay behind it."""
    return ":".join(filter(None, [str(folder), variables().get("LD_LIBRARY_PATH")]))


def runtime_folder() -> str | None:
    """This user's folder on this node until logout; for links where there is no cache folder."""
    return variables().get("XDG_RUNTIME_DIR")


def slurm_exports() -> str:
    """The variables that srun hands to its ranks unless its command line says otherwise; ours join them."""
    return variables().get("SLURM_EXPORT_ENV", "ALL")
