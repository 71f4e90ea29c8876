// Device memory of another process, by the driver's inter-process handles. TEMPI relies on these facts, which were
// observed on two H200s (CUDA 13.0):
// - cudaMalloc allocates small allocations from one block, and a handle opens the whole block. But a handle identifies
// one allocation: opening it returns the address of the allocation, and the address range of this address is the
// allocation.
// - Mappings are counted for each allocation. An allocation can be opened again (3 us). Closing one allocation does not
// close others of the block.
// - A mapping remains after its owner has freed the allocation, and does not prevent the mapping of the next allocation
// at the same place.
// - A handle can be opened even if its GPU is not visible in this process.
// Memory of cudaMallocAsync, memory of virtual memory management, and managed memory have no such handle.
#pragma once

#include <optional>

#include "device/cuda/driver.hpp"
#include "device/device.hpp"

namespace tempi::device {

bool gpu_reaches(const CudaDriver& driver, CUdevice gpu, CUdevice other) noexcept;
bool gpu_has_atomics(const CudaDriver& driver, CUdevice gpu, const SharedAllocation& other) noexcept;

std::optional<SharedAllocation> ipc_share(const CudaDriver& driver, Device& device, const Location& location) noexcept;

std::uintptr_t ipc_open(const CudaDriver& driver, const SharedAllocation& allocation);  // in the current context

}  // namespace tempi::device
