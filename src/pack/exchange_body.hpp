// What the GPU's kernel and the fake device do alike in an enqueued exchange.
#pragma once

#include "pack/exchange_params.hpp"
#include "pack/kernel_body.hpp"

namespace tempi::pack {

TEMPI_DEVICE std::uint32_t send_of_tile(const Exchange& of, std::uint32_t tile) { return of.send_of[of.tiles[tile].box]; }

// Moves one tile; the boxes have absolute addresses.
template <Depth kDepth, std::uint32_t kWordBytes, class Memory>
TEMPI_DEVICE void exchange_tile(const Exchange& of, std::uint32_t tile, std::uint32_t thread, const Memory& memory) {
  const TileOfList at = of.tiles[tile];
  move_tile<kDepth, kWordBytes, true>(of.boxes[at.box], nullptr, nullptr, {at.index, thread, of.n_threads}, memory);
}

}  // namespace tempi::pack
