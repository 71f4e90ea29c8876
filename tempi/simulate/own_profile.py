"""The profile of this machine: the default for messages of host memory."""

from __future__ import annotations

import socket
from pathlib import Path

from tempi import _native
from tempi._library import options


def own_profile() -> Path | None:
    """The .fit file of the option TEMPI_PROFILE, or else the newest one that was measured on this host.

    A rank also compares the MPI library of the profile with its own (``src/model/profile.cpp``). A simulation
    has no MPI library.
    """
    chosen = next(row.value for row in options() if row.name == "PROFILE")
    if chosen != "auto":
        return None if chosen == "none" else Path(chosen)
    folder = _native.cache_folder()
    files = Path(folder).glob("*.fit") if folder else ()
    newest_first = sorted(files, key=_modified, reverse=True)
    return next((path for path in newest_first if _is_of_this_host(path)), None)


def _modified(path: Path) -> float:
    """The time of the last change, in seconds; 0 if the file cannot be read, such as a link to no file."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _is_of_this_host(path: Path) -> bool:
    try:
        fit = _native.read_fit(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return fit.machine().get("host") == socket.gethostname()
