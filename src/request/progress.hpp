// The work of an MPI call for messages of earlier calls, before and after the call of the library.
#pragma once

#include "request/collective_work.hpp"
#include "request/managed_requests.hpp"
#include "request/pending_sends.hpp"
#include "transport/transports.hpp"

namespace tempi::message {

// A freed request is work, too: it is completed when its message is complete.
inline bool has_work() { return PendingSends::any() || ManagedRequests::any_orphans(); }

// True: no launch batch is open, no send is pending, and no request is managed or freed. Messages that a call of
// another thread is completing at this time are not counted.
inline bool is_idle() noexcept { return !has_work() && !ManagedRequests::any(); }

inline void progress_others() noexcept {
  progress_transports();
  if (const CollectiveWork* const work = collective_work.load(std::memory_order_acquire)) work->go_on();
}

inline void end_early_fins() noexcept {
  if (PendingSends::any()) PendingSends::get().end_early_fins(true);
}

// flush_sends() without end_early_fins(): kernels whose early FIN was sent to this process itself may run on.
inline void flush_to_early_fins() noexcept {
  if (has_work()) PendingSends::get().start_pending(true);
  progress_others();
}

// The same in a call that returns only when all of these requests are complete.
inline void flush_needed(int count, const void* requests) noexcept {
  if (PendingSends::any()) PendingSends::get().note_needed(count, requests);
  flush_to_early_fins();
}

// Finishes all packing and starts all pending sends. Unmatched sends wait for their receives, until the match timeout.
// Every call that may block calls it first. MPI_Wait and MPI_Waitall call flush_to_early_fins() instead.
inline void flush_sends() noexcept {
  flush_to_early_fins();
  end_early_fins();
}

// Starts the pending sends whose packing is complete, and ends the sends with an early FIN whose kernels are complete.
// Completes receives whose requests the program has freed and whose messages have arrived.
inline void make_progress() noexcept {
  if (has_work()) PendingSends::get().start_pending(false);
  progress_others();
}

// Makes progress after a call of the library, which returned this code.
inline int tended(int code) noexcept {
  make_progress();
  return code;
}

// Before the library itself sends a message to this peer: packs the unmatched sends to this peer, and starts all
// pending sends. Unmatched sends to other peers stay unmatched.
inline void go_before(Handle comm, int peer) noexcept {
  if (PendingSends::any()) PendingSends::get().start_before(comm, peer);
}

}  // namespace tempi::message
