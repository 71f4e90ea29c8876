// A communicator with the processes of another one in a new order, for reorder = 1 of the calls that make topologies
// (TEMPI_PLACEMENT).
//
// Glossary
//   parent     the program's communicator
//   vertex     a rank of the topology that the program describes, and of the communicator that it gets
//   ordered    a communicator of the parent's processes, in which each process has the rank of its vertex
//   described  the edges that one process passes to the call; in MPI_Dist_graph_create a process may pass any edge
//
// With reorder, MPI permits the library to give the processes any ranks (MPI-4.1, 8.5). The topology does not change:
// vertex i is rank i of the new communicator, whichever process has this rank. Therefore, TEMPI calls the library with
// reorder = 0 and the program's arguments, on the ordered communicator. This call makes a topology that MPI permits.
// The library handles queries about coordinates and neighbours, the error handler, and the processes that a small grid
// leaves out. Only in MPI_Dist_graph_create_adjacent does a process pass the edges of its own vertex. TEMPI sends these
// lists to the processes that get the vertices (edge_lists.hpp).
//
// Steps of the agreement, on the parent, in this order:
//   1. MPI_Comm_split_type: the processes of a node
//   2. Gather to rank 0: the node, whether the arguments are usual, the number of edges
//   3. Bcast of rank 0's decision to continue. It does not continue if there is one node, if each node has one process,
//   or if a process has unusual arguments
//   4. Gatherv of the edges; Bcast: does any rank change? Scatter of each process's new rank, and of the new rank of
//   the process whose former rank it gets
//   5. MPI_Comm_split: the ordered communicator
//
// Unusual arguments are arguments that the library may refuse or that have a special meaning: ranks outside of the
// communicator (MPICH accepts MPI_PROC_NULL), negative weights, missing arrays. It is enough that one process has them.
// All processes learn this before TEMPI changes anything. Then all pass the program's call to the library unchanged,
// and the library reports the error as without TEMPI. If rank 0 has not enough memory to compute an order, all
// processes keep their ranks.
//
// Only rank 0 stores more than its own edges. All processes of the parent must run TEMPI with TEMPI_PLACEMENT.
#pragma once

#include <functional>
#include <optional>

#include "mpi/handle.hpp"
#include "placement/placement.hpp"

namespace tempi::peer {

// True: TEMPI computes new ranks for topologies with reorder.
bool places_ranks() noexcept;

// The topology as one process describes it.
struct Topology {
  bool is_usual = false;
  std::vector<placement::Edge> edges{};   // described here
  std::optional<placement::Grid> grid{};  // instead; the same on all processes
};

// The parent in the order of the vertices, or the parent itself.
class Ordered {
 public:
  // TEMPI has not searched for an order: the library decides on `reorder`.
  explicit Ordered(Handle parent) : comm_(parent) {}
  // Collective. `describe(size)` is called with the number of processes and may throw.
  Ordered(Handle parent, const std::function<Topology(int size)>& describe) noexcept;
  ~Ordered();
  Ordered(const Ordered&) = delete;
  Ordered& operator=(const Ordered&) = delete;

  Handle comm() const { return comm_; }
  bool is_other() const { return is_other_; }
  // The argument for the library's call.
  int reorder(int of_program) const { return is_decided_ ? 0 : of_program; }

  // Valid if the order has changed. former_rank() is the rank of this process in the parent.
  // source() names the process that has passed the edges of this process's vertex to the call: in
  // the parent, that process has the rank of this vertex. The result is its rank in the ordered
  // communicator.
  int former_rank() const { return former_rank_; }
  int source() const { return source_; }

 private:
  void find(const std::function<Topology(int size)>& describe);

  Handle comm_;
  bool is_decided_ = false;
  bool is_other_ = false;
  int former_rank_ = 0;
  int source_ = 0;
};

}  // namespace tempi::peer
