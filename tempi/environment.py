"""What launchers and MPI libraries have put into the environment; `tempi.options` are TEMPI's own."""

from __future__ import annotations

import os

RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MPI_LOCALRANKID")
LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_RANK", "SLURM_LOCALID")


def is_inside_job() -> bool:
    """Whether an MPI launcher started this process."""
    return any(name in os.environ for name in RANKS)


def local_rank() -> int:
    """This process's rank on its node, as its launcher says; 0 where it does not."""
    return next((int(os.environ[name]) for name in LOCAL_RANKS if name in os.environ), 0)


def tempi_variables() -> list[str]:
    """``NAME=value`` of every TEMPI_ variable, for ranks that a launcher starts without this environment."""
    return [f"{key}={value}" for key, value in os.environ.items() if key.startswith("TEMPI_")]


def without_preload() -> dict[str, str]:
    """All of it but LD_PRELOAD."""
    return {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
