// Device memory of another process, by the driver's inter-process handles. TEMPI relies on these facts, which were
// observed on two H200s (CUDA 13.0):
// - cudaMalloc allocates small allocations from one block, and a handle opens the whole block. But
//   a handle identifies one allocation: opening it returns the address of the allocation, and the
//   address range of this address is the allocation.
// - Mappings are counted for each allocation. An allocation can be opened again (3 us). Closing
//   one allocation does not close others of the block.
// - A mapping remains after its owner has freed the allocation. Until this process closes it, the
//   driver opens no newer allocation at the same addresses (CUDA_ERROR_ALREADY_MAPPED; Error,
//   mapped). It does not matter which code of the process has made the mapping: TEMPI, UCX, NCCL
//   or PyTorch.
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
void ipc_close(const CudaDriver& driver, std::uintptr_t address) noexcept;              // in that context

}  // namespace tempi::device
