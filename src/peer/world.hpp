// The ranks of MPI_COMM_WORLD, as this process sees them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "peer/peer.hpp"

namespace tempi::peer {

struct World {
  Handle comm;                    // key_of() the handle
  int rank = 0;                   // this process
  bool is_all = false;            // no rank is elsewhere
  std::vector<int> ranks{};       // of this node, sorted
  std::vector<KnownPeer> here{};  // each of `ranks`
  KnownPeer elsewhere{model::Peer::other_node};

  // Blocks of consecutive ranks are the usual placement.
  const KnownPeer* at(int one) const {
    // A rank before ranks.front() gives a large number.
    auto i = static_cast<std::size_t>(static_cast<std::int64_t>(one) - ranks.front());
    if (i < ranks.size() && ranks[i] == one) return &here[i];
    i = static_cast<std::size_t>(std::lower_bound(ranks.begin(), ranks.end(), one) - ranks.begin());
    return i < ranks.size() && ranks[i] == one ? &here[i] : &elsewhere;
  }
  int mine() const { return at(rank)->on_node; }
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
