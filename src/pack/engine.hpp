// Transfers between ends in any memory.
#pragma once

#include "base/counters.hpp"
#include "pack/box_move.hpp"

namespace tempi::pack {

// The location in whose context the kernels of a move run.
const device::Location& worker_of(const BoxMove& box_move);

// Carries out the move, whose ends must be located; complete on return. Throws Error.
Outcome move_on_gpu(const BoxMove& box_move, device::Device& device);

// The same, if the CPU can access both ends.
void move_on_host(const BoxMove& box_move);

}  // namespace tempi::pack
