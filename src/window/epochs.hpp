// Calls that begin, end or complete epochs of a window over GPU memory (MPI-4.1, 12.5). `library` is the library's
// function, with the program's arguments. For other windows only the library's function is called.
//
// Accesses to GPU parts do not wait for the epoch of the target. Therefore, the calls that begin an epoch wait for it:
// MPI_Win_fence waits for all members, MPI_Win_start for the posts of the group, MPI_Win_lock for the lock. (MPI allows
// a library to wait at the first access instead.) The calls that end an epoch, and flushes, wait for the kernels of
// accesses.
//
// A member of a dynamic window may have GPU memory and host memory. MPI_Win_lock of such a member takes two locks:
// first the lock words, then the library's lock. The lock words are released last. Therefore, no process waits for the
// library's lock.
#pragma once

#include "base/function_ref.hpp"
#include "mpi/handle.hpp"

namespace tempi::window {

using LibraryCall = FunctionRef<int()>;

int fence(int assertion, Handle win, LibraryCall library) noexcept;
int post(Handle group, Handle win, LibraryCall library) noexcept;
int start(Handle group, Handle win, LibraryCall library) noexcept;
int complete(Handle win, LibraryCall library) noexcept;  // MPI_Win_complete
int lock(int lock_type, int rank, Handle win, LibraryCall library) noexcept;
int unlock(int rank, Handle win, LibraryCall library) noexcept;
int lock_all(Handle win, LibraryCall library) noexcept;
int unlock_all(Handle win, LibraryCall library) noexcept;
int flush(int rank, Handle win, LibraryCall library) noexcept;
int flush_all(Handle win, LibraryCall library) noexcept;
int sync(Handle win, LibraryCall library) noexcept;

}  // namespace tempi::window
