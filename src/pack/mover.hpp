// Moves boxes on a GPU: one launch for a datatype, however many boxes it has.
#pragma once

#include "pack/transfer.hpp"

namespace tempi::pack {

// Queues a whole transfer; prepared at the first call of its kind. The kernels must reach both ends.
void queue(const device::Scope& here, const Transfer& transfer);

// Queues boxes of a transfer, oriented from source to destination, the count dim already in them.
void queue_boxes(const device::Scope& here, const Transfer& transfer, const datatype::Boxes& boxes);

// A whole transfer without its launch: boxes with absolute addresses.
void add_kernel_boxes(const device::Scope& here, const Transfer& transfer, std::vector<KernelBox>& boxes);

}  // namespace tempi::pack
