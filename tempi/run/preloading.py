"""A path of ``libtempi.so`` for LD_PRELOAD, which divides at spaces and colons and cannot quote them.

For a package below a folder with such a name, a symbolic link to the package goes into a folder of
this user's alone: another user who could write there could have any library loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from stat import S_IWGRP, S_IWOTH

from tempi import _native
from tempi.run.environment import is_inside_job, runtime_folder

SEPARATORS = " :"
OWNER_ONLY = 0o700


def preloadable(library: Path, package: Path) -> Path:
    """`library`, or a path to it through a link to `package`, which it lies in.

    Raises
    ------
    RuntimeError
        If there is no folder for the link.
    """
    if _can_be_preloaded(library):
        return library
    failures: list[OSError] = []
    for parent in _parents():
        try:
            link = _linked(package.absolute(), parent / "tempi-links")
        except OSError as error:
            failures.append(error)
            continue
        if str(parent) == runtime_folder():
            _tell_of_one_node(parent)
        return link / library.relative_to(package)
    raise RuntimeError(
        f"LD_PRELOAD cannot hold {library}: it divides at spaces and colons, and no folder without them was "
        f"found for a link{''.join(f'; {error}' for error in failures)}. Set TEMPI_CACHE_DIR to one of your "
        "own, on all nodes of a job, or install TEMPI elsewhere"
    ) from (failures[-1] if failures else None)


def _can_be_preloaded(path: Path) -> bool:
    return not any(separator in str(path) for separator in SEPARATORS)


def _parents() -> Iterator[Path]:
    """Candidate folders; those most likely to be the same on all nodes first."""
    for parent in (_native.cache_folder(), runtime_folder()):
        if parent and _can_be_preloaded(Path(parent)):
            yield Path(parent)


@cache
def _tell_of_one_node(folder: Path) -> None:
    """Cached: made once a process. A rank makes the link on its own node."""
    if not is_inside_job():
        print(
            f"tempi: {folder} is a folder of this node only: for jobs on several nodes set TEMPI_CACHE_DIR "
            "to one that all nodes have, without spaces and colons",
            file=sys.stderr,
        )


def _linked(package: Path, folder: Path) -> Path:
    """A link to `package` in `folder`; OSError if that cannot be had or is not this user's alone."""
    folder.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.geteuid() or found.st_mode & (S_IWGRP | S_IWOTH):
        raise PermissionError(f"{folder} can be written by others")
    link = folder / sha256(os.fsencode(package)).hexdigest()[:16]
    if not link.is_symlink() or link.readlink() != package:
        made = folder / f"{link.name}.{os.getpid()}"
        made.unlink(missing_ok=True)
        made.symlink_to(package)
        made.replace(link)
    return link
