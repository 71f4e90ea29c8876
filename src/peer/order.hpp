// The processes of a communicator in another order, for reorder = 1 of the calls that make topologies
// (TEMPI_PLACEMENT).
//
// Glossary
//   parent     the program's communicator
//   vertex     a rank of the topology that the program describes, and of the communicator that it gets
//   ordered    a communicator of the parent's processes, in which each has the rank of the vertex that it becomes
//   described  the edges that one process tells; MPI_Dist_graph_create lets any process tell any edge
//
// MPI's rules (MPI-4.1, 8.5): with reorder the library may give the processes any ranks. The topology itself stays: it
// names vertices, and vertex i is rank i of the new communicator, whichever process that is. So the library's own call
// with reorder = 0 and the program's arguments, on the ordered communicator, makes just what MPI permits: queries about
// coordinates and neighbours, error handler, and the processes that a small grid leaves out are the library's. In
// MPI_Dist_graph_create_adjacent alone a process tells the edges of its own vertex; these lists move to the processes
// that become the vertices (edge_lists.hpp).
//
// Steps of the agreement, on the parent, in this order:
//   1. MPI_Comm_split_type: the processes of a node
//   2. Gather to rank 0: the node, whether the arguments are usual ones, how many edges are told
//   3. Bcast of the verdict: does rank 0 go on? Not if there is one node, one process on each, or any process with
//      unusual arguments
//   4. Gatherv of the edges; Bcast: does any rank change? Scatter of each process's new rank, and of that of the
//      process whose former rank it is
//   5. MPI_Comm_split: the ordered communicator
//
// Unusual arguments are those that the library may refuse or that have a meaning of their own: ranks outside of the
// communicator (MPICH takes MPI_PROC_NULL), negative weights, missing arrays. One process may have them alone; since
// all others learn of it before anything is changed, all pass the program's call on untouched, and the library reports
// the error as it does without us. If rank 0 lacks the memory to find an order, all processes keep their ranks.
//
// Only rank 0 holds more than its own edges. All processes of the parent must run this library with TEMPI_PLACEMENT.
#pragma once

#include <functional>
#include <optional>

#include "mpi/handle.hpp"
#include "placement/placement.hpp"

namespace tempi::peer {

// True: topologies with reorder are placed.
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
  // No order was looked for: `reorder` is the library's to decide.
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

  // This process's rank in the parent, if the order is another one; and the rank of the process there that had the
  // rank of this one's vertex in the parent.
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
