// Transfers from layout to layout in one launch: their tiles are mixed, so that those that go over a link to another
// GPU and those that stay run side by side. (Measured with prototypes on H200s: a halo of 74 MiB, of which 50 go over
// NVLink, takes 173-200 us mixed, 260-270 one behind the other.) Boxes that meet in the same lines of memory, as
// opposite faces of an array do, are moved at about the same time, too.
//
// A set of moves that comes again keeps its list of boxes on the device. At its first time each runs alone.
#pragma once

#include <memory>
#include <vector>

#include "pack/box_move.hpp"

namespace tempi::pack {

// Both are the caller's.
struct Member {
  const BoxMove* box_move;
  const std::shared_ptr<const void>* owner;  // of its mapping and launches
  bool is_remote = false;                    // to another process: over a link, perhaps
};

// Queues the moves, which the kernels of the entered context reach. What is returned is in use until they are done.
std::shared_ptr<const void> queue_merged(const device::Scope& here, const std::vector<Member>& members);

}  // namespace tempi::pack
