"""Variables of launchers and MPI libraries; `tempi.options` are TEMPI's own."""

from __future__ import annotations

import os
from pathlib import Path

RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MPI_LOCALRANKID")
# The last one counts the ranks of all nodes.
LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "PMI_RANK")


def is_inside_job() -> bool:
    """True if an MPI launcher started this process."""
    return any(name in os.environ for name in RANKS)


def local_rank() -> int:
    """This process's rank on its node, from its launcher's variables; 0 if not set."""
    return next((int(os.environ[name]) for name in LOCAL_RANKS if name in os.environ), 0)


def tempi_variables() -> dict[str, str]:
    """Every TEMPI_ variable, for ranks that a launcher starts without this environment."""
    return {key: value for key, value in os.environ.items() if key.startswith("TEMPI_")}


def without_preload() -> dict[str, str]:
    """The environment but for LD_PRELOAD."""
    return {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}


def preloaded_with(library: Path) -> str:
    """LD_PRELOAD with `library` appended; another TEMPI is removed."""
    return joined_preload(os.environ.get("LD_PRELOAD", ""), str(library))


def joined_preload(first: str, last: str) -> str:
    """Two values of LD_PRELOAD as one, each library once; TEMPI's is the last one's."""
    own = preloads(last)
    names = {Path(path).name for path in own}
    return ":".join([*(path for path in preloads(first) if Path(path).name not in names), *own])


def preloads(value: str) -> list[str]:
    """The libraries that a value of LD_PRELOAD names."""
    return value.replace(":", " ").split()


def library_path_with(folder: Path) -> str:
    """LD_LIBRARY_PATH with `folder` first."""
    return ":".join(filter(None, [str(folder), os.environ.get("LD_LIBRARY_PATH")]))


def runtime_folder() -> str | None:
    """This user's runtime folder on this node, removed at logout."""
    return os.environ.get("XDG_RUNTIME_DIR")


def slurm_exports() -> str:
    """The variables that srun hands to its ranks unless its command line says otherwise."""
    return os.environ.get("SLURM_EXPORT_ENV", "ALL")
