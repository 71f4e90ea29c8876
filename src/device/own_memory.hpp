// Addresses that cannot be GPU memory, found without a query of the driver.
#pragma once

namespace tempi::device {

// The heap of the C library (not its mapped blocks, which begin at 128 KiB), and the stack frames of the calling
// functions. Both are host memory, registered with CUDA or not.
bool is_heap_or_stack(const void* address) noexcept;

}  // namespace tempi::device
