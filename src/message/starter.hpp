// The starter of a send whose packing is still running when the program's call returns (TEMPI_PROGRESS).
//
// MPI lets a thread of ours call it only where the program has MPI_THREAD_MULTIPLE. Only there, too, can a thread of
// the program sit in a call while another one's send is pending; with one thread at a time there is always a next call.
#pragma once

#include <atomic>
#include <cstdint>

namespace tempi::message {

enum class Starter : std::uint8_t {
  same_call,  // the call that sends: it waits for the packing
  next_call,  // the program's next MPI call
  thread,     // progress_thread.hpp
};
extern std::atomic<Starter> known_starter;
inline Starter starter() { return known_starter.load(std::memory_order_relaxed); }

// The thread level to ask the library for where the program asks for `required`.
int wanted_thread_level(int required);

// After MPI has been initialised, by whichever call. Until then, and with sessions alone, sends start in their own
// call.
void choose_starter() noexcept;

// Before MPI shuts down: the thread ends, and none is made any more.
void end_starter() noexcept;

}  // namespace tempi::message
