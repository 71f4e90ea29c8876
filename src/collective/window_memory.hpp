// Windows over memory that the MPI library cannot reach. MPI_Win_create is collective: a process that refuses alone
// would leave the others waiting.
//
// Where all processes of the communicator are on one node and run this library, they vote before the library's call
// (collective/consensus.hpp): if one of them refuses, all do, and there is no window. Else the process gives the
// library host memory of that size, so that the window is made, and refuses then. Its part of the window lasts until
// the program frees it, or until MPI_Finalize: MPI_Win_free is collective, too.
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
