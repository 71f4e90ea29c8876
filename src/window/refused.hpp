// Windows that this process could not refuse before the library had made them, as the other processes were waiting for
// it there. This process's part is host memory that nobody asked for. It lasts until the program frees the window, or
// until MPI_Finalize: MPI_Win_free is collective, too.
#pragma once

#include <cstdlib>
#include <memory>

#include "mpi/handle.hpp"

namespace tempi::window {

using HostMemory = std::unique_ptr<void, decltype(&std::free)>;

void keep_refused(Handle win, HostMemory memory);
HostMemory forget_refused(Handle win) noexcept;  // null: it was not refused
// Frees the windows that the program could not. Before MPI_Finalize.
void free_refused_windows() noexcept;

}  // namespace tempi::window
