// Moves boxes on a GPU. Usually one launch moves all boxes of a datatype (exceptions:
// pack/launch.hpp).
#pragma once

#include "pack/box_move.hpp"

namespace tempi::pack {

// Queues a whole move. Its launches are prepared at the first call with its shape (pack/cache.hpp).
// The kernels must be able to access both ends.
void queue(const device::Scope& here, const BoxMove& box_move);
// Takes the memory of the GPU that queue() needs.
void prepare(const device::Scope& here, const BoxMove& box_move);

// Queues boxes of a move. They are oriented from source to destination, and a loop of each box
// repeats it for all elements.
void queue_boxes(const device::Scope& here, const BoxMove& box_move, const datatype::Boxes& boxes);

// Appends the boxes of a whole move, without a launch. Their offsets are absolute addresses.
void add_kernel_boxes(const device::Scope& here, const BoxMove& box_move, std::vector<KernelBox>& boxes);

}  // namespace tempi::pack
