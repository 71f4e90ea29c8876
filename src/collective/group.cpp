#include "collective/group.hpp"

#include "mpi/real.hpp"

namespace tempi::collective {

Group::Group(Handle its_comm) : comm(its_comm) {
  const Real& mpi = real_pmpi();
  int flag = 0;
  mpi.MPI_Comm_test_inter(comm, &flag);
  mpi.MPI_Comm_rank(comm, &rank);
  mpi.MPI_Comm_size(comm, &size);
  is_inter = flag != 0;
  n_peers = size;
  if (is_inter) mpi.MPI_Comm_remote_size(comm, &n_peers);
}

Neighbours::Neighbours(const Group& group) {
  const Real& mpi = real_pmpi();
  int topology = MPI_UNDEFINED, is_weighted = 0;
  mpi.MPI_Topo_test(group.comm, &topology);
  if (topology == MPI_CART) {
    look_at_grid(group.comm);
  } else if (topology == MPI_GRAPH) {
    mpi.MPI_Graph_neighbors_count(group.comm, group.rank, &n_sources);
    n_destinations = n_sources;
  } else if (topology == MPI_DIST_GRAPH) {
    mpi.MPI_Dist_graph_neighbors_count(group.comm, &n_sources, &n_destinations, &is_weighted);
  }
}

// Two neighbours a dimension, the lower one first; both sends and receives go to each.
void Neighbours::look_at_grid(Handle comm) {
  const Real& mpi = real_pmpi();
  int n_dimensions = 0;
  mpi.MPI_Cartdim_get(comm, &n_dimensions);
  n_sources = n_destinations = 2 * n_dimensions;
  is_absent_source.resize(static_cast<std::size_t>(n_sources));
  for (int i = 0; i < n_dimensions; ++i) {
    int lower = 0, upper = 0;
    mpi.MPI_Cart_shift(comm, i, 1, &lower, &upper);
    const auto at = static_cast<std::size_t>(2 * i);
    is_absent_source[at] = lower == MPI_PROC_NULL;
    is_absent_source[at + 1] = upper == MPI_PROC_NULL;
  }
  is_absent_destination = is_absent_source;
}

}  // namespace tempi::collective
