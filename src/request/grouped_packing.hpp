// Packs and unpacks of many messages together.
#pragma once

#include <vector>

#include "request/message.hpp"

namespace tempi::message {

// Packs immediately, without a queue; complete on return. A failure is kept in the message.
void pack_now(Message& message) noexcept;

// Queues the packing of all messages, in few launches for each context. If the packing of a buffer cannot be queued,
// the buffer is packed immediately.
void pack_grouped(const std::vector<Message*>& messages) noexcept;

// True if the queued packing or unpacking is complete, or none was queued. `waits`: waits for it. If the queued work
// has failed, it is repeated immediately. If this fails, too, the failure is kept in the message.
bool is_moved(Message& message, Transfer& transfer, bool waits) noexcept;
// The same for all transfers that are sent.
bool is_packed(Message& message, bool waits) noexcept;

// Packs all transfers that are sent, in few launches for each context; complete on return. A failure is kept in the
// message.
void pack_all_of(Message& message) noexcept;

// Unpacks messages that fill their packed buffers; complete on return. A failure is kept in the message.
void unpack_grouped(const std::vector<MessagePtr>& messages) noexcept;

}  // namespace tempi::message
