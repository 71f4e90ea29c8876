// MPI_Pack and MPI_Unpack in a thread with a stream (device/stream_order.hpp): between buffers in device memory they
// are queued in it, and return.
#pragma once

#include "pack/transfer.hpp"

namespace tempi::packing {

// Queues the transfer in the thread's stream. False: it must be done now, by whatever means; it comes after earlier
// work then. Throws Error.
bool is_queued_in_stream(const pack::Transfer& transfer, const pack::PreparedPtr& prepared, device::Device& device);

}  // namespace tempi::packing
