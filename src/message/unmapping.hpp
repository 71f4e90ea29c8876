// The ends of mappings, by a thread that lives while there are some: the driver waits for all kernels of the context
// first, and the program's may be waiting for other processes, which wait for this one's next call.
#pragma once

#include "device/device.hpp"

namespace tempi::message {

// Ends what Scope::map() has returned. Kernels that use it have ended.
void unmap_later(device::Device& device, device::Context context, std::uintptr_t begin) noexcept;

}  // namespace tempi::message
