// The order of the tiles of a list of boxes.
#pragma once

#include <vector>

#include "pack/kernel_params.hpp"

namespace tempi::pack {

// The tiles are mixed in proportion: each part of the list has the same share of each box.
std::vector<TileOfList> mixed_tiles(const std::vector<std::uint32_t>& tiles_of_boxes);

}  // namespace tempi::pack
