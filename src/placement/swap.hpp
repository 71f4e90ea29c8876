// Swaps of vertices between groups, which keep the groups' sizes (Kernighan and Lin, 1970).
#pragma once

#include "placement/graph.hpp"

namespace tempi::placement {

// Swaps two vertices of different groups while that lessens the weight between groups. For each vertex, only
// the groups to which it has the most weight are tried.
void swap_while_it_helps(const Graph& graph, Groups& groups, int n_groups);

}  // namespace tempi::placement
