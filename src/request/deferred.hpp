// Unpacking that is queued, but that the call does not wait for (device/stream_order.hpp). The call that completes the
// receive lets the stream of its thread wait for the unpacking. If the thread has no stream, the CPU waits. Another
// call may have queued the unpacking: a query of the request, or a call about another message.
#pragma once

#include "request/message.hpp"

namespace tempi::message {

// The unpacking of a receive is queued. True: nobody waits for it yet, and the message is kept until it is done.
bool is_deferred(const MessagePtr& message, Transfer& transfer) noexcept;

// The calling thread tells the program that the receives of a message are complete.
void follow_deferred(Message& message) noexcept;

// While it lives, this thread defers nothing: another thread may tell the program of the end of these receives.
class NothingDeferred {
 public:
  NothingDeferred() noexcept;
  ~NothingDeferred();
  NothingDeferred(const NothingDeferred&) = delete;
  NothingDeferred& operator=(const NothingDeferred&) = delete;
};

// Before the packed bytes of a receive are received again: waits for its unpacking, and throws if that has failed.
void await_deferred(Transfer& transfer);

}  // namespace tempi::message
