"""A path of ``libtempi.so`` for LD_PRELOAD, which divides at spaces and colons and cannot quote them.

Where the package lies below a folder with such a name, a symbolic link to the package goes into a folder of
this user's alone: whoever else could write there could have any library loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from stat import S_IWGRP, S_IWOTH

from tempi import _native
from tempi.environment import runtime_folder

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
    for folder in _folders():
        with suppress(OSError):
            return _linked(package.absolute(), folder) / library.relative_to(package)
    raise RuntimeError(
        f"LD_PRELOAD cannot hold {library}: it divides at spaces and colons, and no folder without them was "
        "found for a link. Set TEMPI_CACHE_DIR to one of your own, on all nodes of a job, or install TEMPI "
        "elsewhere"
    )


def _can_be_preloaded(path: Path) -> bool:
    return not any(separator in str(path) for separator in SEPARATORS)


def _folders() -> Iterator[Path]:
    """Most likely to be the same on all nodes first."""
    for parent in (_native.cache_folder(), runtime_folder()):
        if parent and _can_be_preloaded(Path(parent)):
            yield Path(parent, "tempi-links")


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
