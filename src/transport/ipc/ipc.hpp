// The transport between processes of a node that share a GPU's memory: a kernel of the sender writes from its layout
// straight into that of the receiver, in this process or another one ("direct messages").
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
