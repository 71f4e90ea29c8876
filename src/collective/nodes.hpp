// The nodes of a communicator, and their members. All members of the communicator use the same
// numbers.
//
// Glossary
//   node     nodes are numbered in the order of their first members
//   place    the number of a member among the members of its node, in the order of ranks
//   carrier  a member whose place exists on every node. Its equals are the carriers with the same
//            place on the other nodes. Each part of the data has one carrier on each node
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
  int n_carriers = 0;                       // of each node: the size of the smallest node

  int count() const { return static_cast<int>(members.size()); }
  int own_size() const { return static_cast<int>(members[static_cast<std::size_t>(own)].size()); }
  bool is_carrier() const { return place < n_carriers; }
  // True: there are several nodes, and a node with several members. Otherwise kernels have no work.
  bool are_several_with_several() const;
};

}  // namespace tempi::collective
