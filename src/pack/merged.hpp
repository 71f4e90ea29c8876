// Transfers from layout to layout in one launch. Their tiles are mixed, so that transfers over a link to another GPU
// and transfers within a GPU run at the same time. (Prototypes on H200s: a halo of 74 MiB, of which 50 MiB go over
// NVLink, takes 173-200 us with mixed tiles, and 260-270 us if one transfer follows the other.) Boxes that share cache
// lines, such as opposite faces of an array, are also moved at about the same time.
//
// If a set of moves is repeated, its list of boxes is kept on the device. The first time, each move runs alone.
#pragma once

#include <memory>
#include <vector>

#include "pack/box_move.hpp"

namespace tempi::pack {

// The caller owns the move and the pointer to its owner.
struct Member {
  const BoxMove* box_move;
  const std::shared_ptr<const void>* owner;  // of its mapping and launches
  bool is_remote = false;                    // to another process: over a link, perhaps
};

// Queues the moves. The kernels of the entered context must be able to access their memory. The returned object is in
// use until the moves are done.
std::shared_ptr<const void> queue_merged(const device::Scope& here, const std::vector<Member>& members);

}  // namespace tempi::pack
