// Memory that this process shares with processes of the node for direct messages, and that the program may free. A
// mapping in another process exists longer than the program's allocation, and prevents CUDA from releasing the memory.
// Therefore, the owner checks the memory that it has exported. Its shared segment lists the freed memory, and the
// processes that have mapped it end their mappings.
//
// The driver waits for all running kernels of a context before it ends a mapping in this context, and delays new
// launches until then (H200, driver 580). Therefore, freed memory is reported only if it is more than
// TEMPI_FREED_LIMIT, and a thread ends the mappings (transport/ipc/unmapping.hpp).
#pragma once

#include "device/device.hpp"
#include "transport/transport.hpp"

namespace tempi::message {

// Other processes may map this allocation of this process. TEMPI checks whether it is freed, unless freed memory is
// never reported.
void export_memory(device::Device& device, const device::Location& memory);

// The library may map this allocation in other processes of the node. First, the mappings of freed memory at the same
// addresses are ended. Otherwise the driver refuses the library's mapping, and UCX aborts the program. Warns if the
// mappings have not ended in time.
void hand_over(const device::Location& memory) noexcept;

// Reads the clock. The search itself runs at most every ten milliseconds.
void look_after_shared_memory() noexcept;

}  // namespace tempi::message
