// Windows over memory that the MPI library cannot access. MPI_Win_create is collective: if one process refuses alone,
// the others wait.
//
// If all processes of the communicator are on one node and run TEMPI, they vote before the library's call
// (collective/consensus.hpp). If one process refuses, all processes refuse, and there is no window. Otherwise, the
// process gives the library host memory of the same size, so that the library makes the window, and then returns an
// error. This memory exists until the program frees the window, or until MPI_Finalize, because MPI_Win_free is
// collective, too.
#pragma once

#include "base/function_ref.hpp"
#include "mpi/handle.hpp"

namespace tempi::collective {

// `library` makes the window over the given memory.
int create_window(void* base, Aint bytes, Handle comm, const void* win, FunctionRef<int(void* base)> library) noexcept;

int attach_memory(const void* base, Aint bytes, Handle win, FunctionRef<int()> library) noexcept;

// The library has freed the window.
void window_ends(Handle win) noexcept;

// Frees the windows that the program could not. Before MPI_Finalize.
void free_refused_windows() noexcept;

}  // namespace tempi::collective
