// Unpacking that a completing call leaves to the stream of its thread (device/stream_order.hpp): the stream waits for
// it, not the CPU.
#pragma once

#include "request/message.hpp"

namespace tempi::message {

// The unpacking of a receive is queued. True: the stream waits for it, and the message is kept until it is done.
bool is_deferred(const MessagePtr& message, Transfer& transfer) noexcept;

// Before the packed bytes of a receive are received again: waits for its unpacking, and throws if that has failed.
void await_deferred(Transfer& transfer);

}  // namespace tempi::message
