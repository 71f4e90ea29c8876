"""The path of each message: claimed from the case before anything moves, then held against the shim's counters.

    with outcomes.claimed(("Isend", side), ("Irecv", target)):  # worked out here
        ...                                                     # the calls

A strategy that is ignored, or a call that falls to another path, fails at the end of the block.

A *path* is the name of a strategy: "oneshot", "staged" and "device" pack GPU memory, "host" packs host memory, and
"library" leaves the buffer to the MPI library. The rules restate the documents (docs/options.md) for the environment
of this process; they share nothing with src/transfer/strategy.cpp.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from support import defects, memory
from support.messages import End
from support.typemap import TypeMap

PATHS = {
    "taken: oneshot (packed in pinned host memory)": "oneshot",
    "taken: staged (packed in device memory, copied to host)": "staged",
    "taken: device (packed in device memory)": "device",
    "taken: host packer": "host",
    "passed on: library (handled by the MPI library)": "library",
}
BY_GPU = frozenset(("oneshot", "staged", "device"))
LEAST_BY_DEVICE = 48 << 10  # bytes: without a profile, such messages go to a CUDA-aware library in device memory
NOT_MESSAGES = ("MPI_Type_commit", "MPI_Pack", "MPI_Unpack", "MPI_Start")
LAUNCHES = ("GPU", "kernel launches")
PUBLISHED = ("direct", "published: a receive that the sender may write into")

Rows = Counter[tuple[str, str]]  # calls by function and outcome


class Buffer(Protocol):
    """An end and its type map: an Image or a Side of messages.py."""

    end: End
    message: TypeMap


class Claim(NamedTuple):
    """One call of `function`, counted with one of `paths`."""

    function: str  # without MPI_
    paths: frozenset[str]
    launches: bool = False  # a kernel packs or unpacks it


def one_of(*paths: str) -> frozenset[str]:
    return frozenset(paths)


def is_contiguous(message: TypeMap) -> bool:
    return message.is_contiguous


def is_gpu_memory(kind: str) -> bool:
    """True for memory that only a GPU packs; pinned memory is the library's."""
    return kind not in (memory.HOST, "pinned")


def is_preloaded() -> bool:
    return "libtempi" in os.environ.get("LD_PRELOAD", "")


def in_the_way() -> bool:
    """True if this process was started with the shim, and not told to leave all to the library."""
    return is_preloaded() and os.environ.get("TEMPI_DISABLE") != "1"


def _is_aware() -> bool:
    """True if the library is CUDA-aware, by the case, or else by the shim's finding."""
    wanted = os.environ.get("TEMPI_CUDA_AWARE", "auto")
    if wanted in ("0", "1"):
        return wanted == "1"
    from tempi._library import library

    return library().cuda_aware().startswith("yes")


def _strategy() -> str:
    """TEMPI_STRATEGY; "profile" if a profile decides."""
    wish = os.environ.get("TEMPI_STRATEGY", "auto").replace("direct", "auto")  # for messages that cannot be direct
    return "profile" if wish == "auto" and os.environ.get("TEMPI_PROFILE", "none") != "none" else wish


def _may_be_direct() -> bool:
    """True if no option is against direct messages: the ranks of a test may map each other's memory."""
    switched_off = any(os.environ.get(f"TEMPI_{name}") == "1" for name in ("NO_DIRECT", "NO_SEND"))
    return not switched_off and os.environ.get("TEMPI_STRATEGY", "auto") in ("auto", "direct")


def _is_handed_gpu_memory() -> bool:
    """True if the library may be given GPU memory: it would map it in other processes of the node, as the shim does."""
    return _is_aware() and not _may_be_direct()


def _paths_of_gpu_memory(n_bytes: int, contiguous: bool) -> frozenset[str]:
    wish, aware = _strategy(), _is_handed_gpu_memory()
    if contiguous and aware and wish not in ("oneshot", "staged", "host"):
        return one_of("library")
    if wish == "profile":
        return BY_GPU if aware else BY_GPU - {"device"}
    if wish == "auto":
        return one_of("device" if aware and n_bytes >= LEAST_BY_DEVICE else "oneshot")
    if wish == "staged" or (aware and wish != "host"):
        return one_of(wish)
    return one_of("oneshot")


def _paths_of_host_memory(end: End, contiguous: bool) -> frozenset[str]:
    if defects.library_name() == "openmpi" and defects.known_defect(end.spec):
        return one_of("host", "library")  # "host" where the library is wrong: cases that know say so (End.path)
    if contiguous:
        return one_of("library")
    return {"host": one_of("host"), "profile": one_of("host", "library")}.get(_strategy(), one_of("library"))


def claim(function: str, buffer: Buffer, is_filled: bool = True) -> Claim | None:
    """None for an empty buffer, which is not counted. Not `is_filled`: a shorter message, or none, comes into it."""
    end, message = buffer.end, buffer.message
    if message.size == 0:
        return None
    if end.path:
        return Claim(function, one_of(end.path))
    contiguous = is_contiguous(message)
    if is_gpu_memory(end.kind):
        paths = _paths_of_gpu_memory(message.size, contiguous)
        return Claim(function, paths, launches=is_filled and paths <= BY_GPU and not contiguous)
    return Claim(function, _paths_of_host_memory(end, contiguous))


def claim_of_parts(function: str, kinds: Iterable[str], buffer: Buffer) -> Claim | None:
    """One message over several memories. Its parts meet in pinned memory if one of them is a GPU's.

    CuPy's pool and `cudaMallocAsync` have the device memory of the same GPU.
    """
    all_kinds = {"device" if kind in ("pool", "async") else kind for kind in kinds}
    is_split = len(all_kinds) > 1 and any(map(is_gpu_memory, all_kinds))
    return Claim(function, one_of("oneshot")) if is_split else claim(function, buffer)


def rows() -> Rows:
    """The counters of this process."""
    import tempi

    return Counter({(row.function, row.outcome): row.calls for row in tempi.stats()})


def rows_of_report(text: str) -> Rows:
    """The counters that TEMPI_REPORT has printed."""
    found: Rows = Counter()
    for line in text.splitlines():
        if line.startswith(("tempi: MPI_", "tempi: GPU")):
            function, rest = line.removeprefix("tempi: ").split(None, 1)
            outcome = next(o for o in (*PATHS, LAUNCHES[1], rest.split("  ")[0]) if rest.startswith(o))
            found[function, outcome] += int(rest.removeprefix(outcome).split()[0])
    return found


class claimed:
    """A block of calls, each given as a function and its buffer, or as a Claim.

    Its end fails unless each call was counted with its path, and no further call was taken from the library. Further
    rows of the library are allowed: a block may exchange host bytes of its own.
    """

    def __init__(self, *calls: tuple[str, Buffer] | Claim | None) -> None:
        made = [call if call is None or isinstance(call, Claim) else claim(*call) for call in calls]
        self._claims = [one for one in made if one is not None and in_the_way()]
        self._is_observed = is_preloaded()

    def __enter__(self) -> claimed:
        self._before = rows() if self._is_observed else Counter()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._is_observed:
            check(self._claims, rows() - self._before, counts_all=_has_device())
        elif kind is None:
            assert not hasattr(ctypes.CDLL(None), "tempi_api"), "a shim is in the way of a rank started without it"


def _has_device() -> bool:
    """This process uses a GPU: a real one from its first buffer there on."""
    return os.environ.get("TEMPI_DEVICE") == "fake" or (memory.on_real_gpu() and "cupy" in sys.modules)


def check(claims: Iterable[Claim], found: Rows, counts_all: bool) -> None:
    """Compares the rows added by some calls with their claims.

    `counts_all`: the process has a device; else calls left to the library are not counted.
    """
    told = f"claimed {claims}, counted {dict(found)}"
    left = Counter({(f.removeprefix("MPI_"), PATHS.get(o, o)): n for (f, o), n in found.items() if _is_message(f)})
    for one in sorted(claims, key=lambda one: len(one.paths)):
        path = next((path for path in sorted(one.paths) if left[one.function, path] > 0), None)
        assert path or ("library" in one.paths and not counts_all), f"MPI_{one.function} took another path: {told}"
        left[one.function, path or "library"] -= 1
    assert not [row for row, n in left.items() if n > 0 and row[1] != "library"], f"more was taken: {told}"
    _check_kernels(claims, found, told)


def _is_message(function: str) -> bool:
    return function.startswith("MPI_") and function not in NOT_MESSAGES


def _check_kernels(claims: Iterable[Claim], found: Rows, told: str) -> None:
    """Kernels run if, and only if, GPU memory is packed or unpacked.

    What has been published may be written by its sender's kernel. A _replace that is counted as the library's may be an
    exchange of two copies in device memory.
    """
    n_launches = found[LAUNCHES]
    if sum(one.launches for one in claims) > found[PUBLISHED]:
        assert n_launches > 0, f"no kernel was launched: {told}"
    elif not any(one.paths & BY_GPU or one.function.endswith("_replace") for one in claims):
        assert n_launches == 0, f"{n_launches} kernels for messages of the library or the host packer: {told}"
