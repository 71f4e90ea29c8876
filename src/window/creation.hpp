// The beginning and the end of windows. MPI_Win_create is collective: if one process alone refused it, the other
// processes would wait for ever.
//
// A CUDA-aware library gets the GPU memory. With another library there are three cases:
// - All processes are on one node and run TEMPI. They vote before the library's call (votes.hpp). If all processes can
//   map all GPU parts, TEMPI handles the window (window.hpp).
// - They vote, but cannot map all GPU parts: all processes return an error, and there is no window.
// - They cannot vote. A process with GPU memory gives the library host memory of the same size, so that the library can
//   make the window. After that, this process returns an error (refused.hpp).
#pragma once

#include <optional>

#include "base/function_ref.hpp"
#include "mpi/handle.hpp"

namespace tempi::window {

// `library` makes the window over the given memory.
using MakeWindow = FunctionRef<int(void* base, Aint bytes)>;
// Makes the library's window if all parts are in GPU memory: a shared one without memory. Open MPI 4.1 can make
// only such windows if processes may not read each other's memory (CMA), as in most containers.
using MakeEmptyWindow = FunctionRef<int(int unit)>;
int create(void* base, Aint bytes, Aint unit, Handle comm, const void* win, MakeWindow library,
           MakeEmptyWindow empty) noexcept;

// MPI_Win_allocate. With the info key tempi_memory = device, TEMPI allocates GPU memory, and handles the window also if
// the library is CUDA-aware.
int allocate(Aint bytes, Aint unit, Handle info, Handle comm, void* base, const void* win,
             FunctionRef<int(Aint bytes)> library, MakeEmptyWindow empty) noexcept;
int allocate_shared(FunctionRef<int()> library) noexcept;

// A dynamic window is the library's, and TEMPI handles GPU memory that is attached to it. If the processes cannot vote,
// or one of them has no CUDA context, the window takes host memory only.
int create_dynamic(Handle comm, const void* win, FunctionRef<int()> library) noexcept;
int attach(const void* base, Aint bytes, Handle win, FunctionRef<int()> library) noexcept;
int detach(const void* base, Handle win, FunctionRef<int()> library) noexcept;

int free(void* win, FunctionRef<int()> library) noexcept;

// Values of MPI_WIN_BASE, MPI_WIN_SIZE and MPI_WIN_CREATE_FLAVOR that the library does not know.
int get_attribute(Handle win, int keyval, void* value, int* flag, FunctionRef<int()> library) noexcept;

// For MPI_Win_shared_query: a GPU part, at the address that kernels of this process use. For MPI_PROC_NULL: the first
// part that is not empty. Nothing: the library answers the query.
struct Shared {
  void* base;
  Aint bytes, unit;
};
std::optional<Shared> shared_part(Handle win, int rank) noexcept;

// Before MPI_Finalize.
void end_windows() noexcept;

}  // namespace tempi::window
