"""Every function of mpi.h with a `void *` argument: the shim takes GPU memory there, refuses it, or it is no buffer."""

import re
from fnmatch import fnmatch
from pathlib import Path

import def_tables
import pytest

from support import memory, mpi_functions

# Functions whose `void *` is no memory that the library moves data from or to, by reason.
HARMLESS = {
    "the address alone counts": r"""
        MPI_(Address|Get_address)
    """,
    "memory that the library gives or takes back: the argument is a place for its address, in host memory": r"""
        MPI_(Alloc_mem|Free_mem)
        MPI_(Buffer|Comm|Session)_detach(_buffer)?
    """,
    "a word that the program gives to itself: an attribute, the state of a callback": r"""
        MPI_((Comm|Type)_(get|set)_attr|Win_set_attr|Attr_get|Attr_put)
        MPI_((Comm|Type|Win)_create_keyval|Keyval_create)
        MPI_(Grequest_start|Register_datarep)
        MPIX_(Grequest_start|Grequest_class_allocate|Op_create_x|Async_start|Async_spawn)
        MPIX_(Comm|File|Session|Win)_create_errhandler_x
    """,
    "a setting of the library, or an object of its tool interface: a few bytes of the program's own variables": r"""
        MPI_T_\w+
        MPI_Abi_(get|set)_fortran_booleans
        MPIX_Info_set_hex
    """,
}


def is_harmless(function):
    return any(re.fullmatch(pattern, function) for group in HARMLESS.values() for pattern in group.split())


def refused():
    rows = def_tables.rows("base/refused.def")
    return [name for _, (functions, _, error, _) in rows if error == "error" for name in functions.split(", ")]


def unstaged():
    """The positions of the buffers and of the communicator among the arguments."""
    rows = def_tables.rows("base/unstaged.def")
    return {name: tuple(int(at) for at in positions) for _, (name, *positions) in rows}


def is_handled(function):
    """By an entry of its own: taken, or refused there. One that is passed on is refused by its row in unstaged.def."""
    row = mpi_functions.rows().get(function)
    return row is not None and (row.kind == "SHIM" or (row.kind == "PASSED" and _plain(function) in unstaged()))


def _plain(function):
    return function.removesuffix("_c")


@pytest.fixture(scope="module", params=mpi_functions.compilers(), ids=lambda path: Path(path).name)
def with_buffers(request):
    """The functions of a header with a `void *` argument, with their parameters."""
    everything = mpi_functions.parameters(request.param)
    assert len(everything) == len(mpi_functions.declared(request.param))
    return {
        name: parameters
        for name, parameters in everything.items()
        if any(re.match(r" ?(const )?void \* ?(?!\*)", each) for each in parameters)
    }


def test_each_is_taken_refused_or_harmless(with_buffers):
    assert len(with_buffers) > 150
    assert {"MPI_Send", "MPI_Pack_external", "MPI_Buffer_attach", "MPI_Comm_get_attr"} < set(with_buffers)
    unknown = [name for name in with_buffers if not is_handled(name) and not is_harmless(_plain(name))]
    assert not unknown, "a buffer needs an entry, a row in unstaged.def, or a reason why it is harmless"


def test_none_is_handled_and_harmless(with_buffers):
    assert [name for name in with_buffers if is_handled(name) and is_harmless(_plain(name))] == []


def test_the_document_names_those_that_are_refused(with_buffers):
    passed = {name for name in map(_plain, with_buffers) if name in unstaged()}
    assert [name for name in passed if not any(fnmatch(name, pattern) for pattern in refused())] == []


def test_positions_of_buffers_that_are_not_staged(with_buffers):
    for function, (buffer, other, comm) in unstaged().items():
        for name in (function, f"{function}_c"):
            parameters = with_buffers.get(name)
            if parameters is None:
                continue
            buffers = [at for at, each in enumerate(parameters) if re.match(r" ?(const )?void \*", each)]
            assert sorted({buffer, other}) == buffers, name
            assert parameters[comm].strip().startswith("MPI_Comm "), name


@pytest.mark.mpi_process(TEMPI_DEVICE="fake")
@pytest.mark.parametrize("kind", memory.GPU_KINDS)
def test_gpu_memory_is_not_attached_for_buffered_sends(kind):
    import ctypes

    import numpy as np
    from mpi4py import MPI

    from support import calls

    buffer = memory.fake(kind, np.zeros(4096, np.uint8))
    attach = calls.program()._symbols.MPI_Buffer_attach
    code = attach(ctypes.c_void_p(buffer.address), ctypes.c_int(4096))
    if not memory.needs_shim(kind):
        assert code == MPI.SUCCESS
        MPI.Detach_buffer()
        return
    assert MPI.Get_error_class(code) == MPI.ERR_TYPE
    assert "attach host memory" in MPI.Get_error_string(code)
