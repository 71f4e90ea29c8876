// The state of a message. request/states.def lists the states with their invariants, and the steps
// with the functions that take them.
//
//   inactive ──▶ pending ──▶ started ───────────▶ inactive | ended     a send
//                   │           └────▶ seen ────▶ inactive | ended     MPI_Request_get_status found it complete
//                   ├──────▶ delivered ─────────▶ inactive | ended     written into the receiver's buffer
//                   ├──────▶ fin_sent ───▶ delivered | failed          the same; the FIN message is sent first
//                   ├──────▶ withdrawn ─────────▶ inactive | ended     MPI_Cancel before it was started
//                   └──────▶ failed ────────────▶ inactive | ended     packing or MPI_Start failed
//   inactive ──▶ started ──▶ ...                                       a receive, MPI_Ibsend
//   inactive ──▶ buffered ──────────────────────▶ inactive | ended     MPI_Start of an MPI_Bsend_init
//   inactive ──▶ replaced ──────────────────────▶ inactive | ended     a collective call, by messages
//   inactive ──▶ failed ────────────────────────▶ inactive | ended     the library refuses an MPI_Isendrecv's receive
//   inactive ──▶ ended                                                 never started, freed; or cached and not reused
//
// If the request of a message is the program's own persistent request, the message returns to "inactive", and the
// program may start it again. A message that is cached (request/repeated_calls.hpp) also returns to "inactive", until
// a later call takes it over. Every other message ends. MPI_Request_free ends a
// message that is not started, or that is complete (Completion::done) and has no continuation. It does not change the
// state of any other message: ManagedRequests completes this message in place of the program.
//
// Blocking calls, such as MPI_Send, MPI_Recv and MPI_Sendrecv, have no Message (run_blocking, call/call.cpp), unless
// the message may be direct (call/by_requests.cpp).
//
// A message has states beside this one:
//   Transfer::match          of a send: packed, unmatched or a put (transport/transport.hpp)
//   the published receive    of a receive that a sender may write into (segment/published_receives.def). At the end of
//                            the receive, "written" gives Arrival::How::written or bounced, and "lost" gives lost. If
//                            the sender died while it wrote, the result is also lost. Every other state gives packed
//   StreamState::is_started  of a persistent request that the program has started on a stream (request/message.hpp)
//
// Invariants
//   Only PendingSends and EarlyFins, under their lock, change a message to or from "pending" and "fin_sent".
//   All other steps are made by the thread that creates the message, or by a thread that calls MPI with its request:
//   one thread at a time. After MPI_Request_free, an MPI call of any thread makes them, with the lock of the requests
//   (ManagedRequests::tend_orphans).
//   Only the library accesses the packed bytes of a started message.
#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>

namespace tempi::message {

enum class MessageState : std::uint8_t {
#define TEMPI_STATE(name, completion, invariant) name,
#define TEMPI_STEP(from, to, functions, cause)
#include "request/states.def"
#undef TEMPI_STATE
#undef TEMPI_STEP
};

// Source of a message's completion. Further sources (a GPU mark, a shared segment) would be further values.
enum class Completion : std::uint8_t {
  none,        // there is nothing to complete
  later,       // not before another step
  by_library,  // by the request of the library
  done,        // complete; the next completing call tells the program, without the library
};

constexpr Completion completion_of(MessageState state) {
  constexpr std::array kCompletions{
#define TEMPI_STATE(name, completion, invariant) Completion::completion,
#define TEMPI_STEP(from, to, functions, cause)
#include "request/states.def"
#undef TEMPI_STATE
#undef TEMPI_STEP
  };
  return kCompletions[static_cast<std::size_t>(state)];
}

constexpr bool is_step(MessageState from, MessageState to) {
#define TEMPI_STATE(name, completion, invariant)
#define TEMPI_STEP(its_from, its_to, functions, cause) \
  if (from == MessageState::its_from && to == MessageState::its_to) return true;
#include "request/states.def"
#undef TEMPI_STATE
#undef TEMPI_STEP
  return false;
}

// Read by every thread. A build with assertions (debug, sanitizers) aborts at a step that request/states.def lacks.
class StateMachine {
 public:
  MessageState now() const noexcept { return state_.load(std::memory_order_acquire); }
  void become(MessageState next) noexcept {
    assert(is_step(now(), next));
    state_.store(next, std::memory_order_release);
  }

 private:
  std::atomic<MessageState> state_{MessageState::inactive};
};

}  // namespace tempi::message
