// The kernels of the fake device: their bodies run on the CPU, tile by tile.
#pragma once

#include <random>

#include "device/fake/memory.hpp"

namespace tempi::device {

// False: it waits for a kernel of another process, and is to be run again. Aborts where a kernel uses memory that its
// GPU does not reach, or reads beyond an allocation. One caller at a time.
bool run_kernel(const Kernel& kernel, Grid grid, const void* params, int ordinal, const FakeMemory& memory,
                std::mt19937& random);

}  // namespace tempi::device
