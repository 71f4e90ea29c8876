// Device memory of another process, by the driver's inter-process handles. What was seen on two H200s (CUDA 13.0) and
// is relied on:
//   - cudaMalloc cuts small allocations out of one block, and a handle opens the whole block. A handle still stands for
//     one allocation: opening it returns that allocation's address, whose range is the allocation's.
//   - Mappings are counted per allocation: it can be opened again (3 us), and closing one leaves others of the block.
//   - A mapping outlives the allocation in its process, and does not stop the next one there from being mapped.
//   - A handle of a GPU that is not visible here opens as well.
// Memory of cudaMallocAsync, of virtual memory management and managed memory has no such handle.
#pragma once

#include <optional>

#include "device/cuda/driver.hpp"
#include "device/device.hpp"

namespace tempi::device {

bool gpu_reaches(const CudaDriver& driver, CUdevice gpu, CUdevice other) noexcept;

std::optional<SharedAllocation> ipc_share(const CudaDriver& driver, Device& device, const Location& location) noexcept;

std::uintptr_t ipc_open(const CudaDriver& driver, const SharedAllocation& allocation);  // in the current context

}  // namespace tempi::device
