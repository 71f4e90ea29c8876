"""mpi4py's source package, which has its tests: the installed version's, from pip's index, kept in the user's cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

VERSION = version("mpi4py")
_NAME = f"mpi4py-{VERSION}"


class Unobtainable(Exception):
    """Why there is no source package, in one line."""


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tempi-tests"


def tests() -> Path:
    """The folder of mpi4py's tests. Downloads half a megabyte where it is not in the cache."""
    kept = _cache() / _NAME
    if not kept.is_dir():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            _keep(_unpacked(_download(Path(folder))), kept)
    return kept / "test"


def _download(folder: Path) -> Path:
    """pip has the network's settings (index, proxy, certificates); it reads the package's metadata, builds nothing."""
    package = ["--no-deps", "--no-binary", "mpi4py", f"mpi4py=={VERSION}"]
    command = [sys.executable, "-m", "pip", "download", "-q", "--retries", "1", "-d", str(folder), *package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    except subprocess.TimeoutExpired:
        raise Unobtainable(f"pip download of {_NAME} took over 120 s") from None
    archive = folder / f"{_NAME}.tar.gz"
    if done.returncode != 0 or not archive.exists():
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [f"exit {done.returncode}"]
        raise Unobtainable(f"pip download of {_NAME}: {errors[-1]}")
    return archive


def _unpacked(archive: Path) -> Path:
    with tarfile.open(archive) as files:
        if hasattr(tarfile, "data_filter"):  # 3.10.12, 3.11.4 and later
            files.extraction_filter = tarfile.data_filter
        files.extractall(archive.parent)
    return archive.parent / _NAME


def _keep(unpacked: Path, kept: Path) -> None:
    """A rename, so that the cache holds whole packages only; another process may have been first."""
    try:
        unpacked.rename(kept)
    except OSError:
        if not kept.is_dir():
            raise
