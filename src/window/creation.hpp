// The beginning and the end of windows. MPI_Win_create is collective: a process that refuses alone would leave the
// others waiting.
//
// A library that is CUDA-aware gets the memory. Else the processes vote before the library's call, if all of them are
// on one node and run this library (votes.hpp). If all GPU parts can be mapped by all processes, the window is ours
// (window.hpp), else all refuse, and there is no window. Processes that do not vote give the library host memory of
// that size, so that the window is made, and refuse then (refused.hpp).
#pragma once

#include <optional>

#include "base/function_ref.hpp"
#include "mpi/handle.hpp"

namespace tempi::window {

// `library` makes the window over the given memory.
using MakeWindow = FunctionRef<int(void* base, Aint bytes)>;
int create(void* base, Aint bytes, Aint unit, Handle comm, const void* win, MakeWindow library) noexcept;

// MPI_Win_allocate. With the info key tempi_memory = device the memory is GPU memory of TEMPI, and the window is ours
// with a CUDA-aware library, too.
int allocate(Aint bytes, Aint unit, Handle info, Handle comm, void* base, const void* win,
             FunctionRef<int(Aint bytes)> library) noexcept;

int attach(const void* base, Aint bytes, Handle win, FunctionRef<int()> library) noexcept;

int free(void* win, FunctionRef<int()> library) noexcept;

// Values of MPI_WIN_BASE, MPI_WIN_SIZE and MPI_WIN_CREATE_FLAVOR that the library does not know.
int get_attribute(Handle win, int keyval, void* value, int* flag, FunctionRef<int()> library) noexcept;

// A GPU part as kernels of this process reach it, for MPI_Win_shared_query. Of MPI_PROC_NULL: the first part with any
// bytes. Nothing: the library answers.
struct Shared {
  void* base;
  Aint bytes, unit;
};
std::optional<Shared> shared_part(Handle win, int rank) noexcept;

// Before MPI_Finalize.
void end_windows() noexcept;

}  // namespace tempi::window
