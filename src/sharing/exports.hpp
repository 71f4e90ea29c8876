// Memory that this process shares with processes of the node for direct messages, and that the program may free. A
// mapping in another process exists longer than the program's allocation, and prevents CUDA from releasing the memory.
// Therefore, the owner checks the memory that it has exported when the program frees memory (preload/driver_frees.hpp),
// and in MPI calls. Its shared segment lists the freed memory, and the processes that have mapped it end their
// mappings.
//
// The driver waits for all running kernels of a context before it ends a mapping in this context, and delays new
// launches until then (H200, driver 580). Therefore, freed memory is reported only if it is more than
// TEMPI_FREED_LIMIT, and a thread ends the mappings (sharing/unmapping.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "device/device.hpp"

namespace tempi::message {

// The program has freed an allocation (its Location::id): the function revokes the published receives for this memory,
// before other processes learn that it is freed. The transport that publishes memory sets the function, once.
using RevokeFreed = void (*)(std::uint64_t allocation) noexcept;
inline std::atomic<RevokeFreed> revoke_freed{nullptr};

// Other processes may map this allocation of this process. TEMPI checks whether it is freed, unless freed memory is
// never reported.
void export_memory(device::Device& device, const device::Location& memory);

// Call it before the library gets this allocation, because the library may map it in other processes of the node. Ends
// the mappings of freed memory at the same addresses. Otherwise the driver would refuse the library's mapping, and UCX
// would abort the program. Prints a warning if the mappings do not end in time.
void hand_over(const device::Location& memory) noexcept;

// Searches for freed memory, at most every ten milliseconds. Other calls only read the clock.
void look_after_shared_memory() noexcept;

}  // namespace tempi::message
