"""The version, as the installed package states it."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("tempi-mpi")
except PackageNotFoundError:
    __version__ = "unknown"
