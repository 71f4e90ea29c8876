"""The functions that mpi.h declares, those that the shim has rows for, and those that need none because they are local.

A function of a new MPI is in neither list until somebody has decided whether it can block: tests/interpose/test_rows.py
fails until then.
"""

from __future__ import annotations

import re
import tempfile
from functools import cache
from typing import NamedTuple

import def_tables

from support import shim
from support.programs import mpicc, run, succeed, tool

TABLES = tuple(f"base/{name}.def" for name in ("functions", "collectives", "files", "windows", "passed"))
Version = tuple[int, int]
LARGE_COUNTS: Version = (4, 0)  # the forms with _c

# Functions that wait for no other process, by reason.
LOCAL = {
    "converts, compares or asks for a value": r"""
        MPIX?_\w+_(c2f|f2c|c2f08|f082c|f2f08|f082f|toint|fromint)
        MPI_(Address|Aint_add|Aint_diff|Get_address|Get_count(_c)?|Get_elements(_c|_x)?|Wtick|Wtime)
        MPI_(Get_version|Get_library_version|Get_processor_name|Get_hw_resource_info|Abi_\w+)
        MPI_(Initialized|Finalized|Query_thread|Is_thread_main|Pcontrol|Alloc_mem|Free_mem)
        MPI_Status_(get|set)_(error|source|tag|cancelled|elements|elements_c|elements_x)
        MPI_Test_cancelled
        MPIX_(Query_(cuda|hip|rocm|ze)_support|GPU_query_support|Comm_get_stream|Comm_test_threadcomm)
    """,
    "makes or asks for a local object": r"""
        MPI_Type_(contiguous|vector|hvector|indexed|hindexed|struct|create_\w+|dup|free|get_\w+|match_size)(_c)?
        MPI_Type_(size|extent|lb|ub|size_c|size_x|set_attr|delete_attr|free_keyval|set_name)
        MPIX_Type_iov(_len)?
        MPI_Pack_size(_c)?
        MPI_Pack_external_size(_c)?
        MPI_Info_\w+
        MPIX_Info_set_hex
        MPI_Op_(create|create_c|free|commutative)
        MPIX_Op_create_x
        MPI_Group_(compare|difference|excl|free|incl|intersection|range_excl|range_incl|rank|size|translate_ranks|union)
        MPI_Comm_(compare|group|rank|remote_group|remote_size|size|test_inter|get_parent|get_info|get_name|set_name)
        MPI_(Topo_test|Dims_create|Cart_coords|Cart_get|Cart_map|Cart_rank|Cart_shift|Cartdim_get)
        MPI_(Graph_get|Graph_map|Graph_neighbors|Graph_neighbors_count|Graphdims_get)
        MPI_Dist_graph_neighbors(_count)?
        MPI_Win_(detach|get_info|get_name|set_name|get_group|shared_query|shared_query_c)
        MPI_File_(get_amode|get_atomicity|get_byte_offset|get_group|get_info|get_position|get_type_extent|get_view|seek)
        MPI_File_get_type_extent_c
        MPI_Register_datarep(_c)?
        MPI_Grequest_(start|complete)
        MPIX_Grequest_(class_allocate|class_create|start)
        MPIX_Async_(get_state|spawn|start)
        MPI_(Open_port|Close_port)
        MPIX_(Stream_create|Stream_free|Start_progress_thread|Stop_progress_thread)
        MPI_Abort
    """,
    "attributes and error handlers": r"""
        MPI_(Comm|Win)_(create_keyval|free_keyval|get_attr|set_attr|delete_attr)
        MPI_(Attr_delete|Attr_get|Attr_put|Keyval_create|Keyval_free)
        MPI_(Comm|Win|File|Session)_(create|get|set|call)_errhandler
        MPIX_(Comm|Win|File|Session)_create_errhandler_x
        MPI_Errhandler_(create|free|get|set)
        MPI_Error_(class|string)
        MPI_(Add|Remove)_error_(class|code|string)
        MPIX_Delete_error_(class|code|string)
        MPIX_Comm_(ack_failed|failure_ack|failure_get_acked|get_failed|is_revoked|revoke)
    """,
    "asks the launcher, not another rank": r"""
        MPI_Session_(get_info|get_nth_pset|get_num_psets|get_pset_info|set_info)
        MPI_Group_from_session_pset
    """,
    "starts an operation that is completed by another call": r"""
        MPI_Ibarrier
        MPIX_Comm_iagree
        MPI_(Buffer_iflush|Comm_iflush_buffer|Session_iflush_buffer)
        MPI_Pready(_list|_range)?
    """,
    "the tool interface": r"MPI_T_\w+",
}


def is_local(function: str) -> bool:
    return any(re.fullmatch(pattern, function) for group in LOCAL.values() for pattern in group.split())


class Function(NamedTuple):
    """A row of TABLES, or its form with _c."""

    kind: str  # SHIM, PASSED, REAL
    since: Version | None  # none: an extension of a library
    waits: bool  # for another process


@cache
def rows() -> dict[str, Function]:
    """Every function of the table by its name, each form for itself."""
    found = {}
    for kind, (name, version, *columns) in def_tables.rows(*TABLES):
        since = None if version == "X" else _version(version)
        found[name] = Function(kind, since, kind == "PASSED" or "waits" in columns)
        if columns[0] == "two":
            found[f"{name}_c"] = found[name]._replace(since=since and max(since, LARGE_COUNTS))
    return found


def has_rows() -> set[str]:
    """Functions that we stand in for or pass on."""
    return {name for name, row in rows().items() if row.kind != "REAL"}


def _version(text: str) -> Version:
    major, minor = text.split(".")
    return int(major), int(minor)


_PROBE = """
#include <mpi.h>
tempi_version MPI_VERSION.MPI_SUBVERSION
#if defined(__has_include)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif
"""


@cache
def _header(compiler: str) -> str:
    """The compiler's mpi.h and mpi-ext.h, preprocessed."""
    with tempfile.NamedTemporaryFile("w", suffix=".c") as probe:
        probe.write(_PROBE)
        probe.flush()
        return succeed([compiler, "-E", "-P", probe.name], shim.clean_environment()).out


@cache
def declared(compiler: str) -> frozenset[str]:
    """The functions of mpi.h and mpi-ext.h: names with a profiling name beside them."""
    names = set(re.findall(r"\b(P?MPIX?_[A-Z]\w*)\s*\(", _header(compiler)))
    return frozenset(name for name in names if "P" + name in names)


@cache
def parameters(compiler: str) -> dict[str, list[str]]:
    """Of each function that it declares, as mpi.h has them."""
    prototypes = re.findall(r"\b(MPIX?_[A-Z]\w*)\s*\(([^;{}]*?)\)[^;(){}]*(?:\(\([^;]*)?;", _header(compiler))
    return {name: _without_space(text).split(",") for name, text in prototypes if name in declared(compiler)}


def _without_space(text: str) -> str:
    return " ".join(text.replace("*", " * ").split())


def standard_of(compiler: str) -> Version:
    """The version of the standard that mpi.h says it is of."""
    match = re.search(r"tempi_version (\d+)\s*\.\s*(\d+)", _header(compiler))
    assert match
    return int(match[1]), int(match[2])


def compilers() -> list[str]:
    """Of the MPI at hand, and of Debian's that are installed; Debian has wrappers whose MPI may be gone."""
    others = [c for c in (tool("mpicc.openmpi"), tool("mpicc.mpich")) if c]
    working = [c for c in others if run([c, "-E", "-"], shim.clean_environment()).code == 0]
    return [*dict.fromkeys((mpicc(), *working))]
