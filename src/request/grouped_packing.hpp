// Packs and unpacks of many messages together.
#pragma once

#include <vector>

#include "request/message.hpp"

namespace tempi::message {

// Packs at once, while nothing is queued; a failure is kept in the message.
void pack_now(Message& message) noexcept;

// Queues the packing of all, few launches a context. A packed buffer that cannot be queued is packed at once.
void pack_grouped(const std::vector<Message*>& messages) noexcept;

// True when the queued packing or unpacking is done, if there is any; `waits`: waits for it. Work that has failed is
// done again at once; a failure of that is kept in the message.
bool is_moved(Message& message, Transfer& transfer, bool waits) noexcept;
// The same of all transfers that are sent.
bool is_packed(Message& message, bool waits) noexcept;

// Packs all transfers that are sent, few launches a context; complete on return. A failure is kept in the message.
void pack_all_of(Message& message) noexcept;

// Unpacks whole packed buffers; complete on return. A failure is kept in the message.
void unpack_grouped(const std::vector<MessagePtr>& messages) noexcept;

}  // namespace tempi::message
