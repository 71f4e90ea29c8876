// Groups of vertices with heavy edges. A group grows by one vertex at a time.
#pragma once

#include "placement/graph.hpp"

namespace tempi::placement {

// Groups of the given sizes, whose sum is the number of vertices. Each group begins with the first
// vertex that is left. Then the group takes the vertex with the most weight to it, again and again
// until the group is full.
Groups grown(const Graph& graph, std::span<const int> sizes);

// Groups of one size, made in stages. The product of the stages is the size. A stage of k joins k
// groups of the stage before it to one group.
//
//     4 = 2 x 2: pairs by the heaviest edges, then pairs of pairs. Two pairs that have two medium
//     edges between them are joined before two pairs that have one heavy edge, if the two edges
//     together are heavier.
Groups grown_in_stages(const Graph& graph, std::span<const int> stages);

}  // namespace tempi::placement
