// Transfers between ends in any memory.
#pragma once

#include "base/counters.hpp"
#include "pack/transfer.hpp"

namespace tempi::pack {

// The memory in whose context the kernels of a transfer run.
const device::Location& worker_of(const Transfer& transfer);

// Does the transfer between located ends; complete on return. Throws Error.
Outcome move_on_gpu(const Transfer& transfer, device::Device& device);

// The same if the CPU reaches both ends.
void move_on_host(const Transfer& transfer);

}  // namespace tempi::pack
