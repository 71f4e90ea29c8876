"""Failures of mpi4py's suite without the shim, library by library: known_failures.json.

To write down the installed MPI's, in the tests folder of its environment:

    python -m mpi4py_suite.known_failures
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import mpi4py

from mpi4py_suite import package_source, suite

RANKS = 2
_FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Known:
    """Failures of suite.MODULES with RANKS ranks."""

    mpi4py: str
    skipped: list[str]
    failures: list[str]


def library() -> str:
    """The library's name, such as "Open MPI 5.0.11". Needs no MPI_Init."""
    mpi4py.rc.initialize = False
    from mpi4py import MPI

    name, version = MPI.get_vendor()
    return f"{name} {'.'.join(map(str, version))}"


def known() -> Known | None:
    """The failures of this library, or None if they are not recorded."""
    entry = _stored().get(library())
    return Known(**entry) if entry else None


def store() -> Known:
    run = suite.run(RANKS, suite.MODULES, suite.alone())
    found = Known(package_source.VERSION, run.having("skipped"), run.failures)
    entries = _stored() | {library(): asdict(found)}
    _FILE.write_text(json.dumps(entries, indent=2, sort_keys=True) + "\n")
    return found


def _stored() -> dict[str, dict]:
    return json.loads(_FILE.read_text()) if _FILE.exists() else {}


if __name__ == "__main__":
    found = store()
    print(f"{library()}: {len(found.skipped)} tests skipped, {len(found.failures)} failed")
