// The host packer: runs a box list on the CPU. It is the reference for the kernels and the engine for host buffers.
#pragma once

#include <span>

#include "datatype/box.hpp"

namespace tempi::pack {

// Moves every byte of `boxes` from `src` to `dst` (both readable/writable by the CPU). Blocks of one call never overlap
// on the destination side; overlapping sources are fine.
void run_on_host(std::span<const datatype::Box> boxes, const void* src, void* dst);

}  // namespace tempi::pack
