// Which boxes are moved through shared memory, and their tiles.
#pragma once

#include <optional>

#include "pack/kernel_box.hpp"
#include "pack/window_params.hpp"

namespace tempi::pack {

struct Windowed {
  OneWindowed params;  // but for the addresses
  std::uint32_t tiles;
  Form form;  // gather: of all boxes whose destination is dense
};

// Nothing if words are wide, offsets irregular, neither side is dense or the blocks are short and far apart.
std::optional<Windowed> windowed(const KernelBox& box);

}  // namespace tempi::pack
