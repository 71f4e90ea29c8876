"""TEMPI makes MPI derived datatypes as fast as the hardware allows, without changing the program.

The library ``libtempi.so`` does the work. ``tempi run`` preloads it into an MPI program::

    tempi run -- mpirun -n 2 ./program

In a Python program, importing this package before ``mpi4py.MPI`` also loads the library.

These are all public names. Modules and other names are internal and may change. ``help(tempi.view)`` shows
the documentation of one name, docs/python.md introduces all.

Messages and halo exchanges
    view             a buffer argument for mpi4py: any slice of an array, without a copy
    HaloExchange     fills the ghost cells of distributed arrays
    Field            an array of a halo exchange with its own ghost widths, points or axes
    Face             a face of an array at the boundary of the grid
    Decomposition    cuts a global array into one block for each rank, and joins the blocks
Reductions of 16-bit floats
    datatype         the MPI datatype of the elements of an array, including float16 and bfloat16
    operation        an MPI operation for float16 and bfloat16
CUDA streams
    stream           orders the MPI calls of a ``with`` block in a CUDA stream
    start_enqueue    starts persistent requests on a CUDA stream
    wait_enqueue     queues the exchanges of these requests in the stream
    why_no_channel   why a request has no channel
What TEMPI does
    enabled          True if TEMPI handles the MPI calls of this process
    explain          shows how TEMPI handles a datatype: an `Explanation`, or an `ExplainError`
    stats            how often TEMPI handled each MPI call: rows of the type `Counter`
    reset_stats      sets the counters to 0
    options          the options with their values: rows of the type `Option`
    lib_path         the path of ``libtempi.so``
    __version__      the version
"""

from importlib import import_module
from pkgutil import extend_path
from typing import TYPE_CHECKING, Any

# In the source tree, which python -m sees first, the built parts are those of the installed package.
__path__ = extend_path(__path__, __name__)

from tempi._library import Counter, Option, enabled, lib_path, options, reset_stats, stats
from tempi._version import __version__
from tempi._words import did_you_mean
from tempi.activation import watch as _watch_mpi4py
from tempi.cuda.ordering import stream
from tempi.explanation import ExplainError, Explanation, explain

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
    "ExplainError",
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
        hint = did_you_mean(name, __all__)
        # Without `obj`, Python adds no second hint.
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name, obj=None)
    globals()[name] = found = getattr(import_module(_NEED_MPI[name]), name)
    return found


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)


_watch_mpi4py()
