// Moves boxes on a GPU: one launch for a datatype, whatever the number of boxes.
#pragma once

#include "pack/box_move.hpp"

namespace tempi::pack {

// Queues a whole move; prepared at the first call of its kind. The kernels must reach both ends.
void queue(const device::Scope& here, const BoxMove& box_move);

// Queues boxes of a move, oriented from source to destination, the count dim already in them.
void queue_boxes(const device::Scope& here, const BoxMove& box_move, const datatype::Boxes& boxes);

// A whole move without its launch: boxes with absolute addresses.
void add_kernel_boxes(const device::Scope& here, const BoxMove& box_move, std::vector<KernelBox>& boxes);

}  // namespace tempi::pack
