// Deferred unpacking: the unpacking is queued, and the MPI call does not wait for it (device/stream_order.hpp). The
// call that completes the receive makes the stream of its thread wait for the unpacking. If the thread has no stream,
// the CPU waits. An earlier call may have queued the unpacking: a query of the request, or a call for another message.
#pragma once

#include "request/message.hpp"

namespace tempi::message {

// Call it after the unpacking of a receive was queued. True: the unpacking is deferred, and the message is kept until
// it is done.
bool is_deferred(const MessagePtr& message, Transfer& transfer) noexcept;

// Call it before the calling thread reports to the program that the receives of a message are complete.
void follow_deferred(Message& message) noexcept;

// While it lives, this thread defers nothing, because another thread may report these receives as complete.
class NothingDeferred {
 public:
  NothingDeferred() noexcept;
  ~NothingDeferred();
  NothingDeferred(const NothingDeferred&) = delete;
  NothingDeferred& operator=(const NothingDeferred&) = delete;
};

// Waits for the deferred unpacking of a receive, before new packed bytes overwrite the old ones. Throws if the
// unpacking has failed.
void await_deferred(Transfer& transfer);

}  // namespace tempi::message
