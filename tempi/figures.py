"""Figures of commands: matplotlib, looked for before minutes of work, and files that cannot be written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

SUFFIXES = (".png", ".svg")
DPI = 110


def check_drawable(path: Path) -> Any:
    """matplotlib's pyplot; RuntimeError where it is missing or `path` cannot be a plot."""
    if path.suffix not in SUFFIXES:
        raise RuntimeError(f"{path}: a plot is a .png or .svg file")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK) or path.is_dir():
        raise RuntimeError(f"{path} cannot be written")
    try:
        import matplotlib
    except ImportError as error:
        raise RuntimeError("plots need matplotlib: pip install 'tempi-mpi[measure]'") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save(figure: Any, path: Path) -> None:
    """Write a figure, PNG or SVG by the file's suffix, and close it; RuntimeError if it cannot be written."""
    from matplotlib import pyplot

    try:
        figure.savefig(path, dpi=DPI)
    except OSError as error:
        raise RuntimeError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        pyplot.close(figure)
