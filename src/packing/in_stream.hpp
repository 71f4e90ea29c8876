// MPI_Pack and MPI_Unpack of a thread that has set a stream (device/stream_order.hpp). Between buffers in device
// memory, the call queues its kernel in the stream and returns.
#pragma once

#include "pack/box_move.hpp"

namespace tempi::packing {

// Queues the move in the thread's stream. False: the move is not queued, and the caller must do it
// now, by any means. It will then come after the earlier work in the program's streams. Throws
// Error.
bool is_queued_in_stream(const pack::BoxMove& box_move, const pack::PreparedPtr& prepared, device::Device& device);

}  // namespace tempi::packing
