// The scalars that a carrier reduces on its node, and exchanges with its equals on the other nodes (nodes.hpp).
//
// A node has n carriers, and each of them has one part of the inputs. In MPI_Allreduce and
// MPI_Reduce, the part is one n-th of all scalars. In MPI_Reduce_scatter and
// MPI_Reduce_scatter_block, the part has a piece for each node X: one n-th of the blocks of the
// members of X. The carriers then call the library's MPI_Reduce_scatter. After it, each carrier has
// a part of the blocks of its own node.
//
// Example: MPI_Reduce_scatter_block with blocks of 10 scalars among ranks 0 and 1 of node 0, and 2 and 3 of node 1. An
// input has 40 scalars. Ranks 0 and 2 carry the scalars 0 to 9 (for node 0) and 20 to 29 (for node 1). Ranks 1 and 3
// carry the others.
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
  std::vector<Piece> pieces{};  // in the order of the carrier's memory: node by node
  std::vector<int> counts{};    // of MPI_Reduce_scatter: scalars for each node
  Count total() const;
};

// The part that this process carries; empty if it is no carrier. `blocks`: for functions
// that scatter, the count of each member; else empty.
Carried carried_by(const ReductionTask& task, const Nodes& nodes, const std::vector<Count>& blocks);

}  // namespace tempi::collective
