// The transports of this process: the choice of the transport for a peer, and the functions that are called for all
// transports.
//
// Each peer has one transport: the first in the list that can reach it, or the first in the list if none can. Both
// processes make the same choice, because `can_reach` gives both the same answer. The first transport also has the
// receives from any source, and the peers that are not in MPI_COMM_WORLD.
#pragma once

#include <atomic>
#include <span>

#include "base/wants_progress.hpp"
#include "transport/transport.hpp"

namespace tempi::message {

// In the order of preference (process/transport.cpp). There is at least one.
extern const std::span<const Transport* const> transports;

inline bool has_one_transport() noexcept { return transports.size() == 1; }

const Transport& choose_transport(Handle comm, int peer) noexcept;
// `comm` is valid. A negative peer: any.
inline const Transport& transport_to(Handle comm, int peer) noexcept {
  return has_one_transport() ? *transports.front() : choose_transport(comm, peer);
}

// True: a transport can carry messages between this process and the peer. `comm` is valid. Takes a few ns.
bool is_reached(Handle comm, int peer) noexcept;

void open_transports() noexcept;
void close_transports() noexcept;

// True if a transport counts messages. The flag changes only in open_transports() and close_transports(), so that no
// message is missed.
inline std::atomic<bool> counts_messages{false};
inline bool notes_messages() noexcept { return counts_messages.load(std::memory_order_relaxed); }
// True if a transport may put messages. The flag changes only in open_transports() and close_transports().
inline std::atomic<bool> may_put{false};
inline bool has_transport() noexcept { return may_put.load(std::memory_order_relaxed); }

inline void progress_transports() noexcept {
  if (!wants_progress.load(std::memory_order_relaxed)) return;
  for (const Transport* const one : transports) one->progress();
}

// ---- Functions that are called for all transports. transport.hpp says when to call them.

inline void note_start(Handle request) noexcept {
  if (!notes_messages()) return;
  for (const Transport* const one : transports) one->note_start(request);
}

inline void note_free(Handle request) noexcept {
  if (!notes_messages()) return;
  for (const Transport* const one : transports) one->note_free(request);
}

inline void note_probe() noexcept {
  if (!notes_messages()) return;
  for (const Transport* const one : transports) one->note_probe();
}

inline void promise_no_probes(Handle comm) noexcept {
  if (!notes_messages()) return;
  for (const Transport* const one : transports) one->promise_no_probes(comm);
}

inline void lose_order(Handle comm, Outcome why = Outcome::ended_by_failure) noexcept {
  if (!notes_messages()) return;
  for (const Transport* const one : transports) one->lose_order(comm, why);
}

// For a persistent request that only the library handles, at each start on a stream.
inline void skip_channels(Handle request) noexcept {
  if (!has_transport()) return;
  for (const Transport* const one : transports) {
    if (one->skip_channel != nullptr) one->skip_channel(request);
  }
}

// While it lives, all members of this communicator of TEMPI are in one call, in which they post their receives.
class AllInCall {
 public:
  explicit AllInCall(Handle comm) noexcept : comm_(comm) { note(true); }
  ~AllInCall() { note(false); }
  AllInCall(const AllInCall&) = delete;
  AllInCall& operator=(const AllInCall&) = delete;

 private:
  void note(bool are_in_it) const noexcept {
    if (!notes_messages()) return;
    for (const Transport* const one : transports) one->note_all_in_call(comm_, are_in_it);
  }
  const Handle comm_;
};

}  // namespace tempi::message
