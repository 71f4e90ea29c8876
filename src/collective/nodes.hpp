// The members of a communicator by node, the same on all members.
//
// Glossary
//   node     counted in the order of the first member of each
//   place    of a member among those of its node, in the order of ranks
//   carrier  a member whose place each node has: what it carries to its equals on the other nodes, each node has once
//
// Example: ranks 0, 1, 2 on one node and ranks 3, 4 on another one. Ranks 0, 1, 3 and 4 are carriers. Ranks 0 and 3
// have place 0, ranks 1 and 4 have place 1.
#pragma once

#include <vector>

namespace tempi::collective {

struct Nodes {
  // `firsts`: of each member, the first member of its node.
  Nodes(const std::vector<int>& firsts, int rank);

  std::vector<std::vector<int>> members{};  // of each node, sorted
  std::vector<int> node_of{}, place_of{};   // of each member
  int own = 0, place = 0;                   // of this process
  int n_carriers = 0;                       // of a node: the members of the smallest node

  int count() const { return static_cast<int>(members.size()); }
  int own_size() const { return static_cast<int>(members[static_cast<std::size_t>(own)].size()); }
  bool is_carrier() const { return place < n_carriers; }
  // Kernels have something to do.
  bool are_several_with_several() const;
};

}  // namespace tempi::collective
