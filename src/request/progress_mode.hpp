// TEMPI_PROGRESS: a send whose packing still runs when the program's call returns is started by a thread or a call.
//
// Our thread needs MPI_THREAD_MULTIPLE. Below that level no thread of the program blocks in a call while another one's
// send is pending, and a send waits for the next call. But MPI promises that it arrives without one (MPI-4.1, 3.7.4): a
// program that waits outside of MPI for an effect of its message needs TEMPI_PROGRESS=thread. That is not the default:
// with MPI_THREAD_MULTIPLE a halo exchange of two H200s takes 13 to 34 % longer (26 MPI_Isend), and Open MPI 4.1
// refuses MPI_Win_create.
//
// Pending collective calls go on by the same thread at every level, as it calls no function of MPI for them.
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

// Before threads call MPI whatever its level says.
void let_calls_overlap() noexcept;

// Before MPI shuts down: ends the thread; no other one is made.
void end_progress() noexcept;

}  // namespace tempi::message
