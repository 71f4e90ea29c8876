"""Known defects of the MPI libraries on host memory. Named here, so that no test learns it.

Found with random types against the standard's type map. For a case on this list the library's bytes are not checked;
the shim's are always held to the standard.
"""

from __future__ import annotations

from functools import cache, lru_cache

from mpi4py import MPI

from support import calls
from support import constructors as c
from support.typemap import F90, Named, Spec, marked, nodes, standard_bounds, type_map

_COMPLEX = ("C_FLOAT_COMPLEX", "COMPLEX", "C_DOUBLE_COMPLEX", "DOUBLE_COMPLEX")


@cache
def library_name() -> str:
    version = MPI.Get_library_version()
    return "openmpi" if "Open MPI" in version else "mpich"


def is_mpich_4_0() -> bool:
    return library_name() == "mpich" and MPI.Get_version() < (4, 1)


def is_intel() -> bool:
    return "Intel" in MPI.Get_library_version()


def is_standard_abi() -> bool:
    """The library has the MPI-5 standard's ABI. MPICH's converts arrays of requests before it looks at them."""
    return "libmpi_abi" in calls.library_path()


def arrivals_are_inexact() -> bool:
    """MPI_Parrived is true too early where the sender has more partitions than the receiver, or never if it has fewer.

    Open MPI 5.0.11 asks for some of the sender's partitions, or for one behind the last.
    """
    return library_name() == "openmpi"


def loses_partitions_of_threads() -> bool:
    """A partition that MPI_Pready marks while another thread makes progress may never be sent (Open MPI 5.0.11)."""
    return library_name() == "openmpi"


def partitions_travel_together() -> bool:
    """The first partition leaves when the last one is ready (MPICH 5.0.2)."""
    return library_name() == "mpich"


def fails_of_partitions() -> tuple[str, ...]:
    """Calls that report MPI_ERR_IN_STATUS for partitioned requests of host memory, too (MPICH 5.0.2)."""
    return ("Testall", "Request_get_status_all") if library_name() == "mpich" else ()


def fails_of_completed_files() -> tuple[str, ...]:
    """Calls that report MPI_ERR_IN_STATUS where one of two file requests is complete before the other (MPICH 5.0.2).

    They poll a request again that is complete. In host memory 1 to 20 of 100 such calls fail.
    """
    return ("Testall",) if library_name() == "mpich" else ()


def frees_pending_file_requests() -> bool:
    """Where one request of an array ends in error, Open MPI frees all that have an error.

    A pending request of a file has none yet: what happens to lie there decides whether it is freed, untold. (Seen in
    Open MPI 5.0.11, in host memory without TEMPI, too.)
    """
    return library_name() == "openmpi"


def loses_file_requests_of_threads() -> bool:
    """Crashes where a request of a file ends while another thread makes progress (seen in Open MPI 5.0.11).

    TEMPI carries out nonblocking accesses in one piece then, or in chunks by blocking calls.
    """
    return library_name() == "openmpi"


def misplaces_contiguous_data_in_files() -> bool:
    """Accesses of files ignore where the data of a datatype without gaps begins (indexed; seen in MPICH 5.0.2)."""
    return library_name() == "mpich"


def is_open_mpi_4() -> bool:
    return "Open MPI v4" in MPI.Get_library_version()


def loses_error_texts() -> bool:
    """MPICH 4.0 shows a text of its own for a code that MPI_Add_error_code made of a predefined class."""
    return is_mpich_4_0()


def _is_complex(spec: Spec) -> bool:
    return (isinstance(spec, Named) and spec.name in _COMPLEX) or (isinstance(spec, F90) and spec.kind == "complex")


def _steps_back(spec: Spec) -> bool:
    if isinstance(spec, c.Vector):
        return spec.stride < 0
    return isinstance(spec, c.Hvector) and spec.stride_bytes < 0


@lru_cache(maxsize=4096)
def _is_empty(spec: Spec) -> bool:
    return type_map(spec).size == 0


@lru_cache(maxsize=4096)
def known_defect(spec: Spec) -> str | None:
    """Why this library's bytes for this datatype cannot be trusted, or None."""
    every = list(nodes(spec))
    if library_name() == "openmpi":
        if any(map(_is_complex, every)):
            return "Open MPI packs complex types at displacements rounded down to a multiple of their size"
        if any(map(_steps_back, every)):
            return "Open MPI packs some vectors with a negative stride wrongly when they are nested"
        if any(_is_empty(child) and not _is_empty(s) for s in every for child in s.children):
            return "Open MPI takes data followed by an empty type at a distance for contiguous"
    elif Named("LONG_DOUBLE") in every:
        return "MPICH copies 10 of the 16 bytes of MPI_LONG_DOUBLE"
    return None


def defect_left(spec: Spec) -> str | None:
    """The same under the shim, on host memory: it handles the datatypes that Open MPI moves wrongly."""
    return None if library_name() == "openmpi" else known_defect(spec)


def _mixes_bounds(spec: Spec) -> bool:
    marks = {marked(child, standard_bounds) for child in spec.children}
    return isinstance(spec, c.Struct) and len(marks) == 2


def odd_bounds(spec: Spec) -> str | None:
    """Why this library's bounds of this datatype are not the standard's, or None."""
    every = list(nodes(spec))
    if library_name() == "mpich":
        if any(map(_mixes_bounds, every)):
            return "MPICH counts all members of a struct where only those with explicit bounds should count"
    elif any(map(_byte_back, every)):
        return "Open MPI takes a stride of -1 byte for 'as wide as the block'"
    return None


def _byte_back(spec: Spec) -> bool:
    if isinstance(spec, c.Vector):
        return spec.stride == -1 and spec.blocklength > 1
    return isinstance(spec, c.Hvector) and spec.stride_bytes == -1


def crashes_library(spec: Spec) -> bool:
    """MPICH dies (SIGFPE) packing nested empty types."""
    return dies_of_empty_members(spec) or (library_name() == "mpich" and _is_empty(spec))


def dies_of_empty_members(spec: Spec) -> bool:
    """MPICH divides by the size of an empty type within others, whenever it packs or unpacks, messages included.

    MPICH 4.0 does so with every empty type, 5.0.2 with some whose blocks have no elements.
    """
    if is_mpich_4_0():
        return any(map(_is_empty, nodes(spec)))
    return library_name() == "mpich" and not _is_empty(spec) and any(map(_has_blocks_of_nothing, nodes(spec)))


def _has_blocks_of_nothing(spec: Spec) -> bool:
    """Blocks of 0 elements of a type that has data."""
    if not isinstance(spec, c.Vector | c.Hvector | c.IndexedBlock | c.HindexedBlock):
        return False
    return spec.blocklength == 0 and not _is_empty(spec.child)


PIECE_BYTES = 8160  # the first piece; those after it have 8176


def fails_in_pieces(spec: Spec, count: int, is_to_oneself: bool) -> bool:
    """MPICH 5.0.2 cannot go on in the middle of a basic element when packed bytes to oneself come in pieces.

    It says that the signatures do not match. A piece ends at a multiple of 16 bytes, which is within an element only
    where elements of several sizes follow each other. Of MPICH 4.0 it is not known which messages come in pieces.
    """
    if library_name() != "mpich":
        return False
    lengths = type_map(spec).lengths
    is_in_pieces = is_mpich_4_0() or (is_to_oneself and count * lengths.sum() > PIECE_BYTES)
    return is_in_pieces and len(set(lengths)) > 1


def mixes_blocks_in_place(operation: str, lifetime: str) -> bool:
    """Open MPI's nonblocking and persistent MPI_Alltoallv and w with MPI_IN_PLACE exchange some blocks wrongly."""
    return library_name() == "openmpi" and operation.startswith("Alltoall") and lifetime != "blocking"


def wants_one_datatype(operation: str, where: str, receives: bool, n_bytes: int) -> bool:
    """MPICH takes it that the datatypes of all ranks are alike, in host memory, too.

    It cuts received blocks of MPI_Allgatherv over 32 KiB, gaps included, by the extent of each rank's own: where those
    differ, ranks fail ("Message truncated") or wait for ever. Between groups MPI_Gather and MPI_Scatter wait, or
    deliver other bytes.
    """
    is_cut = operation == "Allgatherv" and receives and n_bytes > 8 << 10
    is_between = where == "inter" and operation in ("Gather", "Scatter")
    return library_name() == "mpich" and (is_cut or is_between)


def restarts_collectives_wrongly() -> bool:
    """MPICH 4.0's persistent collectives read some buffers when they are made, and end with errors or old data.

    Of host memory, too: a Gather sends what lay there at MPI_Gather_init, a second start of an Allgather leaves blocks
    out (collective/test_second_starts.py). Tests that fill their buffers before they make the request pass there.
    """
    return is_mpich_4_0()


def copies_wrongly(operation: str, lifetime: str, n_ranks: int) -> bool:
    """Open MPI's MPI_Alltoallw of one process, from one datatype to another, copies the wrong bytes or dies."""
    return library_name() == "openmpi" and (operation, lifetime, n_ranks) == ("Alltoallw", "blocking", 1)


def is_lost_at_end_of_file(which: str, how: str, is_librarys: bool) -> bool:
    """Reads over a file's end: what comes of the rest, and what the status says.

    Collective reads count bytes that are not there, and so do MPICH's with derived datatypes in memory of its own, the
    host's; Open MPI's nonblocking ones never complete.
    """
    if which.endswith("_all"):
        return True
    return is_librarys if library_name() == "mpich" else how != "blocking"
