// Packs and unpacks of many messages together.
#pragma once

#include <vector>

#include "message/message.hpp"

namespace tempi::message {

// Packs at once; a failure is kept in the message.
void pack_now(Message& message) noexcept;

// Queues the packing of all, few launches a context. A payload that cannot be queued is packed at once.
void pack_grouped(const std::vector<MessagePtr>& messages) noexcept;

// Unpacks whole payloads; complete on return. A failure is kept in the message.
void unpack_grouped(const std::vector<MessagePtr>& messages) noexcept;

}  // namespace tempi::message
