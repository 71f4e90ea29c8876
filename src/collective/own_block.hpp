// In MPI_Alltoallw, the block of host memory that a process sends to itself. Libraries pack and unpack this block if
// its two datatypes differ. TEMPI copies it directly from layout to layout, and gives the library an empty datatype.
#pragma once

#include "collective/ends.hpp"
#include "collective/run.hpp"

namespace tempi::collective {

// Copies the block and removes it from the ends. Returns the number of copied bytes. 0: the library copies the block.
// The library copies it in these cases: the call is not MPI_Alltoallw; the library handles messages of host memory;
// both ends are contiguous; one end is irregular or on a GPU; the ends differ in size; their layouts do not compose.
std::int64_t copy_own_block(const Call& call, Ends& ends, device::Device* device);

}  // namespace tempi::collective
