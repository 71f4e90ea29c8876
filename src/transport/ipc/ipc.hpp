// The transport between processes of a node that share a GPU's memory: a kernel of the sender writes from its layout
// straight into that of the receiver, in this process or another one ("direct messages").
#pragma once

#include "transport/transport.hpp"

namespace tempi::message {

extern const Transport ipc_transport;

// MPI_Cancel (cancel.cpp): see Transport::cancel.
bool cancel_message(const std::shared_ptr<Message>& message, Handle request) noexcept;

}  // namespace tempi::message
