// The kernels of the fake device: their bodies run on the CPU, tile by tile.
#pragma once

#include <random>

#include "device/fake/memory.hpp"

namespace tempi::device {

// Aborts where a kernel uses memory that its GPU does not reach, or reads beyond an allocation. One caller at a time.
void run_tiles(const Kernel& kernel, Grid grid, const void* params, int ordinal, const FakeMemory& memory,
               std::mt19937& random);

}  // namespace tempi::device
