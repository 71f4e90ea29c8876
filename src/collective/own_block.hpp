// In MPI_Alltoallw, the block of host memory that a process sends to itself. Libraries pack and unpack this block if
// its two datatypes differ. TEMPI copies it directly from layout to layout, and gives the library an empty datatype.
#pragma once

#include "collective/ends.hpp"
#include "collective/run.hpp"

namespace tempi::collective {

// Copies the block and takes it out of the ends; the bytes that were copied. 0: it stays the library's, as in other
// calls, where messages of host memory are the library's, where both ends are contiguous, or one is irregular or on a
// GPU, where they differ in size, and where their layouts do not compose.
std::int64_t copy_own_block(const Call& call, Ends& ends, device::Device* device);

}  // namespace tempi::collective
