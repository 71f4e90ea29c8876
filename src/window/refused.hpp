// Windows that this process refuses (creation.hpp) after the library has made them, because the other processes wait in
// the library's call. The part of this process is host memory that the program does not know. It lasts until the
// program frees the window, or until MPI_Finalize, because MPI_Win_free is collective, too.
#pragma once

#include <cstdlib>
#include <memory>

#include "mpi/handle.hpp"

namespace tempi::window {

using HostMemory = std::unique_ptr<void, decltype(&std::free)>;

void keep_refused(Handle win, HostMemory memory);
HostMemory forget_refused(Handle win) noexcept;  // null: it was not refused
// Frees the windows that the program has not freed. Call it before MPI_Finalize.
void free_refused_windows() noexcept;

}  // namespace tempi::window
