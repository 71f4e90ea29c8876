// The chooser: the libtempi.so that works with any MPI library. It loads the shim of the program's MPI library.
//   lib/libtempi.so            the chooser
//   lib/openmpi/libtempi.so    the shims, each in a folder named after its ABI
//
// A program that is linked to MPI is started again, with the shim preloaded instead (start_again.hpp). Any other
// process may load MPI later, as Python does: the chooser's dlopen loads the shim before the first library that needs
// MPI (needed.hpp). Example: `import mpi4py.MPI` opens MPI.cpython-311-x86_64-linux-gnu.so, which names libmpi.so.40 as
// needed; lib/openmpi/libtempi.so is opened for the whole process, and then the module, whose calls are bound to it.
#pragma once

#include <string_view>

namespace tempi::preload {

// "openmpi", "mpich" or "mpiabi" (the MPI-5 standard's), by the name of a library's file; empty: not of an MPI for
// which there could be a shim.
std::string_view abi_of_library(std::string_view path) noexcept;

}  // namespace tempi::preload
