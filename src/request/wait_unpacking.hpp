// Receives whose bytes arrive in bounce buffers. A call that waits for these receives unpacks the bytes that have
// arrived. It polls the library with calls that complete requests, never with a query (request/finish.hpp). No other
// thread may access its messages.
#pragma once

#include <optional>

#include "request/finish.hpp"

namespace tempi::message {

// The library's MPI_Wait. `message` is null if the request is not managed.
int wait_for(const Real& real, Message* message, void* slot, MPI_Status* status) noexcept;

// Waits for the requests one by one: each status has the code of its call.
void wait_for_each(const Real& real, const Requests& all, const SeenStatuses& statuses) noexcept;

// Before MPI_Waitall: waits for all receives with bounce buffers together. After that they are complete, and the
// library's MPI_Waitall finds them complete. If a receive has failed, the result is the code that MPI_Waitall of the
// program returns: the error handler has been called, and `statuses` are those of all requests.
std::optional<int> wait_for_bounce_buffers(const Real& real, const Requests& all, const SeenStatuses& statuses);

}  // namespace tempi::message
