// TEMPI_PROGRESS: if the packing of a send is still running when the program's call returns, a thread or a later call
// starts the send.
//
// The thread of TEMPI needs MPI_THREAD_MULTIPLE. Below this level, no thread of the program blocks in a call while a
// send of another thread is pending, so a send can wait for the next call. But MPI guarantees that the message arrives
// without another call (MPI-4.1, 3.7.4). Therefore, a program that waits outside of MPI for an effect of its message
// needs TEMPI_PROGRESS=thread. This is not the default, because it has costs: with MPI_THREAD_MULTIPLE a halo exchange
// of two H200s (26 MPI_Isend) takes 13 to 34 % longer, and Open MPI 4.1 refuses MPI_Win_create.
//
// The same thread advances pending collective calls at every thread level, because it calls no function of MPI for
// them.
#pragma once

#include <atomic>
#include <cstdint>

namespace tempi::message {

enum class ProgressMode : std::uint8_t {
  same_call,  // the call that sends: it waits for the packing
  next_call,  // the program's next MPI call
  thread,     // request/progress_thread.hpp
};
extern std::atomic<ProgressMode> known_progress_mode;
inline ProgressMode progress_mode() { return known_progress_mode.load(std::memory_order_relaxed); }

// The progress thread may be made.
extern std::atomic<bool> may_have_progress_thread;

// The thread level to request from the library if the program requests `required`.
int wanted_thread_level(int required);

// After MPI has been initialised, by any call. Before, and with sessions alone, sends start in their own call, and
// calls may overlap (base/call_lock.hpp). A session has a thread level of its own.
void choose_progress_mode(bool has_sessions) noexcept;

// Call it before MPI calls of several threads may overlap, although the thread level of the world
// does not permit this.
void let_calls_overlap() noexcept;

// Before MPI shuts down: ends the thread; no other one is made.
void end_progress() noexcept;

}  // namespace tempi::message
