// MPI_Pack and MPI_Unpack in a thread with a stream (device/stream_order.hpp): between buffers in device memory they
// are queued in it, and return.
#pragma once

#include "pack/box_move.hpp"

namespace tempi::packing {

// Queues the move in the thread's stream. False: it must be done now, by whatever means; it comes after earlier
// work then. Throws Error.
bool is_queued_in_stream(const pack::BoxMove& box_move, const pack::PreparedPtr& prepared, device::Device& device);

}  // namespace tempi::packing
