// NVTX ranges, which Nsight shows beside the GPU's work. NVTX is a protocol in a header of the CUDA toolkit, which
// loads the tool's library; nothing is linked. Without that header at build time it does nothing.
#pragma once

#include <cstdint>

namespace tempi::trace {

bool nvtx_open() noexcept;  // false: this build has no NVTX
void nvtx_push(const char* name, std::int64_t bytes) noexcept;
void nvtx_pop() noexcept;

}  // namespace tempi::trace
