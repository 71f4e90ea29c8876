// Groups of vertices with heavy edges. A group grows by one vertex at a time.
#pragma once

#include "placement/graph.hpp"

namespace tempi::placement {

// Groups of the given sizes, whose sum is the number of vertices. Each begins with the first vertex that is left and
// takes the one with the most weight to the group, until it is full.
Groups grown(const Graph& graph, std::span<const int> sizes);

// Groups of one size, in stages: the stages multiply to it. Each stage joins as many groups of the one before it.
//
//     4 = 2 x 2: pairs by the heaviest edges, then pairs of pairs. A vertex joins a side of two medium edges rather
//     than the end of a chain of heavy ones, if together they are heavier.
Groups grown_in_stages(const Graph& graph, std::span<const int> stages);

}  // namespace tempi::placement
