// The assignment of ranks of a new communicator to processes, so that heavy edges are within a node.
//
// Glossary
//   process    a rank of the parent; it runs on a node
//   vertex     a rank of the new communicator, as the program's topology names it
//   room       the number of processes of a node: this number of vertices can be placed there
//   placement  the node of each vertex; every room is filled
//   given      the placement in which each process keeps its rank, as with reorder = 0
//
//     dims 2 x 4, two nodes of 4 processes, started in turn      given:   A B A B     placed:  A A B B
//     (the processes 0, 2, 4, 6 run on A, 1, 3, 5, 7 on B)                A B A B              A A B B
//     faces between nodes                                                 6                    2
//     rank of process 0, 1, 2, ...                                        0 1 2 3 4 5 6 7      0 3 1 2 4 7 5 6
//
//
// Candidates are: the given placement; vertices in blocks, and in turn, as launchers place processes; groups that grow
// along heavy edges (grow.hpp); for grids with equal rooms also bricks (grid.hpp). Swaps (swap.hpp) improve the two
// candidates with the least weight. The best candidate is used if it has less weight between nodes than the given
// placement. Otherwise all processes keep their ranks. Therefore, the result is never worse than the placement of the
// launcher, nor than placement by blocks or in turn.
//
// The distance between nodes, and positions within a node, are ignored. The result depends only on the arguments.
#pragma once

#include "placement/grid.hpp"

namespace tempi::placement {

// The rank of each process in the new communicator. `nodes`: the node of each process, any number for each node.
// A topology with fewer vertices than processes leaves out the processes with the highest new ranks.
std::vector<int> ranks_for(const Graph& graph, const Groups& nodes);
std::vector<int> ranks_for(const Grid& grid, const Groups& nodes);

}  // namespace tempi::placement
