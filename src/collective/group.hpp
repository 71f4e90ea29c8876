// The processes of a collective call, as its arguments count them.
#pragma once

#include <vector>

#include "mpi/handle.hpp"

namespace tempi::collective {

struct Group {
  explicit Group(Handle comm);
  Handle comm;
  int rank = 0, size = 0;
  bool is_inter = false;
  int n_peers = 0;  // number of processes for which a buffer has a block: the remote group, or all processes
};

// The neighbours of this process, in the order of the blocks of a buffer. An absent neighbour, at the edge of a grid,
// is MPI_PROC_NULL.
struct Neighbours {
  explicit Neighbours(const Group& group);
  int n_sources = 0, n_destinations = 0;
  std::vector<char> is_absent_source{}, is_absent_destination{};  // empty: none

 private:
  void look_at_grid(Handle comm);
};

}  // namespace tempi::collective
