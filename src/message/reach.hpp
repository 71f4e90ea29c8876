// Memory of other processes that kernels of this one reach.
#pragma once

#include <optional>

#include "device/device.hpp"

namespace tempi::message {

// The address here of an allocation of another rank, mapped into a context; mapped once, and until its owner has freed
// it. Nothing: it cannot be mapped.
std::optional<std::uintptr_t> reach(device::Device& device, device::Context context, int rank,
                                    const device::SharedAllocation& allocation) noexcept;

}  // namespace tempi::message
