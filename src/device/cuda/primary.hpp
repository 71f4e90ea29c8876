// Primary contexts, for memory that has no context of its own (cudaMallocAsync, virtual memory management).
//
// One that the program uses is not retained by us, so that its last release ends the context. One that the program does
// not use is retained until release_primaries().
#pragma once

#include "device/cuda/life.hpp"

namespace tempi::device {

// Null: the driver has none for this GPU.
Life* primary_life(const CudaDriver& driver, CUdevice ordinal) noexcept;

bool is_primary_active(const CudaDriver& driver, CUdevice ordinal) noexcept;

void release_primaries(const CudaDriver& driver) noexcept;

}  // namespace tempi::device
