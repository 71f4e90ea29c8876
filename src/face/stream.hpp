// The program's streams (device/stream_order.hpp), for tempi.h and the Python package.
#pragma once

namespace tempi::face {

// Of the calling thread. An MPI error code, or TEMPI_ERR_NOT_LOADED (include/tempi.h).
int set_stream(void* stream) noexcept;
void* stream() noexcept;

// MPI calls of this thread come after the work that is queued in the stream of an array. False: TEMPI does not handle
// them. Throws Error.
bool order_after_array(const void* address, void* stream);

}  // namespace tempi::face
