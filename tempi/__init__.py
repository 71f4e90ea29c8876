"""TEMPI: MPI derived datatypes at the machine's speed, for programs nobody changed.

The work is done by ``libtempi.so``, which is preloaded into an MPI program::

    LD_PRELOAD=$(python -m tempi lib) mpirun -n 2 ./program

This package looks inside: how a datatype is handled, what became of the calls, which options are set.
"""

from importlib import import_module
from pkgutil import extend_path
from typing import TYPE_CHECKING

# In the source tree, which python -m sees first, the built parts are those of the installed package.
__path__ = extend_path(__path__, __name__)

from tempi._library import Counter, Option, enabled, lib_path, options, reset_stats, stats
from tempi._version import __version__
from tempi.explanation import Explanation, explain

if TYPE_CHECKING:
    from tempi.decomposition import Decomposition
    from tempi.halo import HaloExchange

__all__ = [
    "Counter",
    "Decomposition",
    "Explanation",
    "HaloExchange",
    "Option",
    "__version__",
    "enabled",
    "explain",
    "lib_path",
    "options",
    "reset_stats",
    "stats",
]

# Loaded at first use: they import mpi4py, which starts MPI.
_LAZY = {"Decomposition": "tempi.decomposition", "HaloExchange": "tempi.halo"}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'tempi' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
