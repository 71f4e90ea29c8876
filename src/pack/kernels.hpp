// The choice of the kernel for a list of boxes.
#pragma once

#include "device/device.hpp"
#include "pack/window_params.hpp"

namespace tempi::pack {

// `word_bytes` is that of all boxes, or kMixedWords.
const device::Kernel& kernel_of_one(Depth depth, std::uint32_t word_bytes);
const device::Kernel& kernel_of_few(Depth depth, std::uint32_t word_bytes);
const device::Kernel& kernel_of_many(Depth depth, std::uint32_t word_bytes = kMixedWords);
const device::Kernel& kernel_of_aligned(Depth depth, std::uint32_t word_bytes);
const device::Kernel& windowed_kernel(Form form, std::uint32_t word_bytes);

}  // namespace tempi::pack
