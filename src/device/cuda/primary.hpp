// Primary contexts, for memory that has no context of its own (memory of cudaMallocAsync and of virtual memory
// management).
//
// TEMPI does not retain a primary context that the program uses, so that the last release by the program ends the
// context. TEMPI retains a primary context that the program does not use, until release_primaries().
#pragma once

#include "device/cuda/life.hpp"

namespace tempi::device {

// Null: the driver has no primary context for this GPU.
Life* primary_life(const CudaDriver& driver, CUdevice ordinal) noexcept;

bool is_primary_active(const CudaDriver& driver, CUdevice ordinal) noexcept;

void release_primaries(const CudaDriver& driver) noexcept;

}  // namespace tempi::device
