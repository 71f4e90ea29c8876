"""TEMPI makes MPI derived datatypes as fast as the hardware allows, without changing the program.

The library ``libtempi.so`` does the work. ``tempi run`` preloads it into an MPI program::

    tempi run -- mpirun -n 2 ./program

In a Python program, importing this package before ``mpi4py.MPI`` also loads the library. The package has
functions for arrays and halo exchanges. Other functions show how TEMPI handles a datatype, the outcomes of
the MPI calls, and the options.
"""

from importlib import import_module
from pkgutil import extend_path
from typing import TYPE_CHECKING, Any

# In the source tree, which python -m sees first, the built parts are those of the installed package.
__path__ = extend_path(__path__, __name__)

from tempi._library import Counter, Option, enabled, lib_path, options, reset_stats, stats
from tempi._version import __version__
from tempi.activation import watch as _watch_mpi4py
from tempi.cuda.ordering import stream
from tempi.explanation import Explanation, explain

if TYPE_CHECKING:
    from tempi.arrays.element_types import datatype
    from tempi.arrays.float16 import operation
    from tempi.arrays.views import view
    from tempi.enqueue import start_enqueue, wait_enqueue, why_no_channel
    from tempi.halo.boundary import Face
    from tempi.halo.decomposition import Decomposition
    from tempi.halo.exchange import HaloExchange
    from tempi.halo.field import Field

__all__ = [
    "Counter",
    "Decomposition",
    "Explanation",
    "Face",
    "Field",
    "HaloExchange",
    "Option",
    "__version__",
    "datatype",
    "enabled",
    "explain",
    "lib_path",
    "operation",
    "options",
    "reset_stats",
    "start_enqueue",
    "stats",
    "stream",
    "view",
    "wait_enqueue",
    "why_no_channel",
]

_NEED_MPI = {
    "Decomposition": "tempi.halo.decomposition",
    "Face": "tempi.halo.boundary",
    "Field": "tempi.halo.field",
    "HaloExchange": "tempi.halo.exchange",
    "datatype": "tempi.arrays.element_types",
    "operation": "tempi.arrays.float16",
    "start_enqueue": "tempi.enqueue",
    "view": "tempi.arrays.views",
    "wait_enqueue": "tempi.enqueue",
    "why_no_channel": "tempi.enqueue",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, because most names import mpi4py.MPI, which initialises MPI."""
    if name not in _NEED_MPI:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_NEED_MPI[name]), name)
    return found


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)


_watch_mpi4py()
