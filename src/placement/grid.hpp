// Cartesian grids: the edges between their positions, and bricks of positions.
#pragma once

#include <optional>

#include "placement/graph.hpp"

namespace tempi::placement {

// The last dimension varies fastest, as MPI_Cart_create numbers its ranks.
struct Grid {
  std::vector<int> dims;          // positive
  std::vector<char> is_periodic;  // each dimension

  int size() const;
};

// One edge for each face that two positions share. MPI tells no sizes: all weigh the same.
std::vector<Edge> faces_of(const Grid& grid);

// The number of the brick that each position belongs to. All bricks have the same dims and `size`
// positions, and divide the grid. Of the possible dims, those with the fewest faces between bricks
// are used. None: no such brick divides the grid.
//
//     dims 4 x 2, size 4     brick 2 x 2, 2 faces between     0 0
//                                                             0 0
//                                                             1 1
//                                                             1 1
std::optional<Groups> bricks_of(const Grid& grid, int size);

}  // namespace tempi::placement
