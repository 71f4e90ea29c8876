"""The path of libtempi.so, and the environment of programs that are run with and without it."""

from __future__ import annotations

import os
import shlex
from functools import cache
from pathlib import Path


@cache
def path() -> Path:
    """The shim under test: TESTS_SHIM where set (a sanitizer build), else the installed package's."""
    if chosen := os.environ.get("TESTS_SHIM"):
        return Path(chosen)
    from tempi.run import shims

    return shims.any_shim()


def preload() -> str:
    """The value of LD_PRELOAD. TESTS_PRELOAD_FIRST is for the run-time library of a sanitizer."""
    return " ".join(filter(None, (os.environ.get("TESTS_PRELOAD_FIRST"), str(path()))))


def wrapper() -> list[str]:
    """The command that children run under: TESTS_WRAPPER, such as compute-sanitizer."""
    return shlex.split(os.environ.get("TESTS_WRAPPER", ""))


def is_sanitized() -> bool:
    return bool(os.environ.get("TESTS_PRELOAD_FIRST"))


def clean_environment() -> dict[str, str]:
    """This environment without the shim, its options and leftovers of an MPI launcher."""
    inherited = ("TEMPI_", "OMPI_", "PMIX_", "PMI_", "LD_PRELOAD")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(inherited) or k.startswith("OMPI_MCA_")}
    # Open MPI's ofi looks for a fabric in each MPI_Init; NumPy's library starts threads in each import. Ranks that wait
    # yield their core: jobs of two lanes share the cores.
    quick = {"OMPI_MCA_btl": "^ofi", "OMPI_MCA_mtl": "^ofi", "OPENBLAS_NUM_THREADS": "1"}
    quick |= {"OMPI_MCA_mpi_yield_when_idle": "1"}
    return (
        quick
        | kept
        | {
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
            "TEMPI_PROFILE": "none",  # this user's measured profiles must not affect the tests
            "TEMPI_NO_DIRECT": "1",  # the path of each message is its own: tests of direct messages switch them on
            "TEMPI_BOUNCE_SPAN": "0",  # large messages of short blocks use bounce buffers, over however little memory
        }
    )


def preloaded(**options: str) -> dict[str, str]:
    return clean_environment() | {"LD_PRELOAD": preload()} | options
