// MPI_Cancel of a message that is counted.
#pragma once

#include "request/message.hpp"

namespace tempi::message {

// Before the library cancels the request, whose message may be null. False: it must not, for the message of the receive
// has been sent, and comes.
bool note_cancel(const MessagePtr& message, Handle request) noexcept;

}  // namespace tempi::message
