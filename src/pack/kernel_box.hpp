// From a box to kernel parameters: the word size, the order of the loops, the divisors.
#pragma once

#include <vector>

#include "datatype/box.hpp"
#include "pack/kernel_params.hpp"

namespace tempi::pack {

// Division by `n` >= 2 of numerators below 2^31.
struct Divisor {
  std::uint32_t magic;
  std::uint8_t shift;
};
Divisor divisor_of(std::uint32_t n);

// A table of offsets on the device.
struct DeviceTable {
  const void* entries = nullptr;
  bool narrow = false;  // int32 entries, in units of the table; else int64
};

// The largest word (1..16 bytes, as far as the tuning allows) in which every block, stride and offset of `box` can be
// expressed, given the alignment of the two buffers. `alignment` is any number whose low bits are those of the buffers'
// addresses or-ed together.
std::uint32_t word_bytes_of(const datatype::Box& box, std::uintptr_t alignment);

// A part of a box that is small enough for a kernel. Its table is that of the whole box, used from `first_entry` on.
struct Cut {
  datatype::Box box;
  std::int64_t first_entry = 0;
};

// Cuts of at most kMaxWords words each that together move what `box` moves.
std::vector<Cut> cut_for_kernel(const datatype::Box& box, std::uint32_t word_bytes);

KernelBox kernel_box(const Cut& cut, std::uint32_t word_bytes, DeviceTable table);

std::uint32_t tiles_of(const KernelBox& box, Depth depth, std::uint32_t threads);

}  // namespace tempi::pack
