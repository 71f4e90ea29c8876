// A launch that is ready except for the addresses of the two ends.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "device/device.hpp"
#include "pack/window_params.hpp"

namespace tempi::pack {

struct Launch {
  const device::Kernel* kernel;
  device::Grid grid;
  std::int64_t src_offset, dst_offset;  // bytes, of this launch's first element
  std::variant<OneBox, FewBoxes, ManyBoxes, OneWindowed> params;

  void run(const device::Scope& here, const void* src, void* dst) const;
};
using Launches = std::vector<Launch>;  // more than one beyond 2^31 words or tiles, and for large boxes of narrow words

// The launches of boxes that travel as kernel parameters: one for each large box of narrow words, one for up to
// kFewBoxes others.
Launches assemble(const std::vector<KernelBox>& boxes);

// The kernel for a list of these boxes on the device. If all boxes have the same wide word, it is a
// kernel of this word, otherwise of mixed words.
struct ListKernel {
  const device::Kernel* kernel;
  Depth depth;
  std::uint32_t word_bytes;  // or kMixedWords
};
ListKernel kernel_of_list(const std::vector<KernelBox>& boxes);

// The tables of a list that is kept on the device.
struct LongList {
  Depth depth = Depth::x1;
  std::uint32_t threads = 0;  // per tile
  std::vector<KernelBox> boxes;
  std::vector<TileOfList> tiles;  // of one element
};
LongList long_list(std::vector<KernelBox> boxes);

}  // namespace tempi::pack
