// The ranks of MPI_COMM_WORLD as seen from this process.
#pragma once

#include <atomic>
#include <vector>

#include "peer/peer.hpp"

namespace tempi::peer {

struct World {
  Handle comm;                    // its key
  int first = 0;                  // the rank of here[0]
  int mine = 0;                   // this process: here[mine]
  bool is_all = false;            // no rank is elsewhere
  std::vector<KnownPeer> here{};  // the ranks of this node
  KnownPeer elsewhere{model::Peer::other_node};

  const KnownPeer* at(int rank) const {
    const auto on_node = static_cast<std::size_t>(static_cast<std::int64_t>(rank) - first);
    return on_node < here.size() ? &here[on_node] : &elsewhere;  // a rank below `first` is a large number
  }
  model::Peer farthest() const {
    if (!is_all) return model::Peer::other_node;
    return here.size() == 1 ? model::Peer::self : model::Peer::same_node;
  }
};

extern std::atomic<const World*> known_world;
const World* look_for_world() noexcept;

// Null before MPI is initialised, after it has ended, and in a program that has sessions only.
inline const World* world() noexcept {
  const World* const known = known_world.load(std::memory_order_acquire);
  return known != nullptr ? known : look_for_world();
}
void forget_world() noexcept;

}  // namespace tempi::peer
