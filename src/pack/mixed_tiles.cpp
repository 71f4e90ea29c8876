#include "pack/mixed_tiles.hpp"

#include <numeric>

namespace tempi::pack {

std::vector<TileOfList> mixed_tiles(const std::vector<std::uint32_t>& tiles_of_boxes) {
  const std::uint64_t n = std::accumulate(tiles_of_boxes.begin(), tiles_of_boxes.end(), std::uint64_t{0});
  const auto each_tile = [&](auto use) {
    for (std::uint32_t box = 0; box < tiles_of_boxes.size(); ++box) {
      for (std::uint32_t i = 0; i < tiles_of_boxes[box]; ++i) use(i * n / tiles_of_boxes[box], TileOfList{box, i});
    }
  };
  std::vector<std::uint32_t> places(n + 1);  // of the next tile of each share
  each_tile([&](std::uint64_t share, TileOfList) { ++places[share + 1]; });
  std::partial_sum(places.begin(), places.end(), places.begin());
  std::vector<TileOfList> all(n);
  each_tile([&](std::uint64_t share, TileOfList tile) { all[places[share]++] = tile; });
  return all;
}

}  // namespace tempi::pack
