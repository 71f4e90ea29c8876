// Memory that processes of a node share, and that its owner frees. A mapping outlives the memory of
// its owner, and keeps it from being free: the owner looks after what it has exported, its shared segment tells what
// has been freed, and whoever has mapped that ends the mapping.
//
// The driver waits for all running kernels of a context before it ends a mapping there, and holds up launches meanwhile
// (H200, driver 580). So freed memory is told when it is much, more than TEMPI_FREED_LIMIT, and a thread ends the
// mappings (sharing/unmapping.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "device/device.hpp"

namespace tempi::message {

// Revokes what names an allocation (its Location::id) that the program has freed, before other processes learn that it
// is freed. The transport that publishes memory sets it, once.
using RevokeFreed = void (*)(std::uint64_t allocation) noexcept;
inline std::atomic<RevokeFreed> revoke_freed{nullptr};

// Other processes may map this allocation of ours: it is looked after, unless freed memory is never told.
void export_memory(device::Device& device, const device::Location& memory);

// The library may map this allocation in other processes of the node: mappings of freed memory at its place are ended
// first, as the driver refuses the library's then, which UCX takes for fatal. Warns if they have not ended in time.
void hand_over(const device::Location& memory) noexcept;

// A look at the clock; ten milliseconds later it does its work again.
void look_after_shared_memory() noexcept;

}  // namespace tempi::message
