// The block of host memory that a process of MPI_Alltoallw sends itself. Libraries pack and unpack it where its ends
// have different datatypes; we copy it straight from layout to layout, and the library gets an empty datatype instead.
#pragma once

#include "collective/ends.hpp"
#include "collective/run.hpp"

namespace tempi::collective {

// Copies the block and takes it out of the ends; the bytes that were copied. 0: it stays the library's, as in other
// calls, where messages of host memory are the library's, where both ends are contiguous, or one is irregular or on a
// GPU, where they differ in size, and where their layouts do not compose.
std::int64_t copy_own_block(const Call& call, Ends& ends, device::Device* device);

}  // namespace tempi::collective
