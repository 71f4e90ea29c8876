// The edges of a vertex, as MPI_Dist_graph_create_adjacent takes them, and their transfer to the process that gets this
// vertex.
#pragma once

#include <vector>

#include "peer/order.hpp"

namespace tempi::peer {

// The edges of one direction. Order and repetitions are the program's.
struct EdgeList {
  bool is_weighted = false;
  std::vector<int> ranks{};
  std::vector<int> weights{};  // as many, if it is weighted

  const int* weights_argument() const;  // MPI_UNWEIGHTED, or an address that is not null
};

// The arguments of one process; none if they are not usual ones (order.hpp) for a communicator of `size` ranks.
std::optional<EdgeList> edge_list(int n, const int* ranks, const int* weights, int size);

struct EdgeLists {
  EdgeList in, out;
};

// Collective. The lists of this process's vertex. The process whose rank in the parent is this vertex has passed them
// to the call, and sends them to this process.
EdgeLists moved(const EdgeLists& mine, const Ordered& ordered);

}  // namespace tempi::peer
