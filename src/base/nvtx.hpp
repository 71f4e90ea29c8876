// NVTX ranges, which Nsight shows beside the work of the GPU. NVTX is a header of the CUDA toolkit. It loads the
// library of the tool, and TEMPI links no library for it. If the header is missing at build time, these functions do
// nothing.
#pragma once

#include <cstdint>

namespace tempi::trace {

bool nvtx_open() noexcept;  // false: this build has no NVTX
void nvtx_push(const char* name, std::int64_t bytes) noexcept;
void nvtx_pop() noexcept;

}  // namespace tempi::trace
