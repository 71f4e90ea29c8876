// The transport between processes of a node. A kernel of the sender writes from its own layout directly into the layout
// of the receiver, in the same process or in another one. Such a message is a direct message.
#pragma once

#include <atomic>

#include "transport/transport.hpp"

namespace tempi::message {

extern const Transport ipc_transport;

// This process has a shared segment for the other processes. Constant from MPI_Init to MPI_Finalize.
inline std::atomic<bool> has_open_segment{false};
inline bool has_segment() noexcept { return has_open_segment.load(std::memory_order_relaxed); }

// MPI_Cancel (cancel.cpp): see Transport::cancel.
bool cancel_message(const std::shared_ptr<Message>& message, Handle request) noexcept;

}  // namespace tempi::message
