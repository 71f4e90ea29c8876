"""A program that looks MPI functions up in the handle of a library: python by_handle_program.py ctypes|cffi LIBRARY.

It sends a vector of device memory of the fake device to itself, and prints "ok". mpi4py only tells it the handles.
"""

import ctypes
import sys

import mpi4py

mpi4py.rc.initialize = mpi4py.rc.finalize = False
import numpy as np  # noqa: E402
from mpi4py import MPI  # noqa: E402

COUNT, STRIDE = 8, 3
HANDLE = ctypes.c_int if MPI._sizeof(MPI.COMM_SELF) == 4 else ctypes.c_size_t
TYPES = {"a": ctypes.c_size_t, "i": ctypes.c_int, "h": HANDLE}  # an address, an int, a handle
FUNCTIONS = {
    "MPI_Init": "aa",
    "MPI_Comm_size": "ha",  # which the shim does not stand in for
    "MPI_Type_vector": "iiiha",
    "MPI_Type_commit": "a",
    "MPI_Sendrecv": "aihiiaihiiha",
    "MPI_Type_free": "a",
    "MPI_Finalize": "",
}


def by_ctypes(path):
    library = ctypes.CDLL(path)

    def function(name):
        found = getattr(library, name)
        found.argtypes = [TYPES[each] for each in FUNCTIONS[name]]
        return found

    return function


def by_cffi(path):
    import cffi

    ffi = cffi.FFI()
    names = {"a": "uintptr_t", "i": "int", "h": "int" if HANDLE is ctypes.c_int else "uintptr_t"}
    for name, signature in FUNCTIONS.items():
        ffi.cdef(f"int {name}({', '.join(names[each] for each in signature) or 'void'});")
    library = ffi.dlopen(path)
    return lambda name: getattr(library, name)


def handle(of):
    return HANDLE.from_address(MPI._addressof(of)).value


def main(way, path):
    function = {"ctypes": by_ctypes, "cffi": by_cffi}[way](path)

    def call(name, *arguments):
        assert function(name)(*arguments) == MPI.SUCCESS, name

    comm, vector, size = handle(MPI.COMM_SELF), HANDLE(), ctypes.c_int()
    status = ctypes.create_string_buffer(MPI._sizeof(MPI.Status))
    call("MPI_Init", 0, 0)
    call("MPI_Comm_size", comm, ctypes.addressof(size))
    assert size.value == 1
    call("MPI_Type_vector", COUNT, 1, STRIDE, handle(MPI.INT), ctypes.addressof(vector))
    call("MPI_Type_commit", ctypes.addressof(vector))

    from tempi.testing import FakeArray  # which finds the shim that is loaded by now

    values = np.arange(COUNT * STRIDE, dtype="i4")
    sent, received = FakeArray.from_numpy(values), FakeArray.from_numpy(np.zeros_like(values))
    out, into = (each.__cuda_array_interface__["data"][0] for each in (sent, received))
    of = vector.value
    call("MPI_Sendrecv", out, 1, of, 0, 1, into, 1, of, 0, 1, comm, ctypes.addressof(status))
    np.testing.assert_array_equal(received.to_numpy()[::STRIDE], values[::STRIDE])
    call("MPI_Type_free", ctypes.addressof(vector))
    call("MPI_Finalize")
    print("ok")


main(*sys.argv[1:])
