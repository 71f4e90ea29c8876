// The scalars that a carrier reduces on its node, and exchanges with its equals on the other nodes (nodes.hpp).
//
// Each carrier of a node has one part of the inputs: of MPI_Allreduce and MPI_Reduce an n-th of all scalars. Of
// MPI_Reduce_scatter and MPI_Reduce_scatter_block it is, for each node, an n-th of the blocks of this node's members:
// after the library's MPI_Reduce_scatter of the carriers, each carrier has a part of the blocks of its own node.
//
// Example: MPI_Reduce_scatter_block of 10 scalars among ranks 0 and 1 of a node, and 2 and 3 of another one. Ranks 0
// and 2 carry the scalars 0 to 9 (to node 0) and 20 to 29 (to node 1), ranks 1 and 3 the others.
#pragma once

#include <vector>

#include "collective/nodes.hpp"
#include "collective/reduction_task.hpp"

namespace tempi::collective {

struct Piece {
  Count first, count;  // of an input
  int owner;           // the member whose block it is in; -1: it is in no block
  Count in_block;      // scalars of this block before it
};

struct Carried {
  std::vector<Piece> pieces{};  // they follow each other in the carrier's memory; those of a node are together
  std::vector<int> counts{};    // of MPI_Reduce_scatter: scalars for each node
  Count total() const;
};

// The parts that the carriers carry. `blocks`: the count of each member, of functions that scatter; else empty.
Carried carried_by(const ReductionTask& task, const Nodes& nodes, const std::vector<Count>& blocks);

}  // namespace tempi::collective
