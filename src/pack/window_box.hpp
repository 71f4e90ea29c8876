// Which boxes are moved through shared memory, and in which tiles.
#pragma once

#include <optional>

#include "pack/kernel_box.hpp"
#include "pack/window_params.hpp"

namespace tempi::pack {

struct Windowed {
  OneWindowed params;  // but for the addresses
  std::uint32_t tiles;
};

// Nothing of unpacking, and where words are wide, offsets irregular, the packed side is not dense or the blocks are
// short and far apart.
std::optional<Windowed> windowed(const KernelBox& box);

}  // namespace tempi::pack
