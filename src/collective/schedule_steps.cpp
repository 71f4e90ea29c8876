#include "collective/schedule_steps.hpp"

#include <algorithm>
#include <numeric>

#include "collective/blocks.hpp"
#include "mpi/real.hpp"

namespace tempi::collective {
namespace {

constexpr std::int64_t kLargeBlock = 64 << 10;  // takes much longer than a vote

struct Element {
  pack::PreparedPtr structure;
  std::int64_t extent, size;
};

// A datatype that we do not understand is the library's in a message, too.
Element element_of(Handle type, Handle comm) {
  try {
    const KnownType& known = resolve(type, comm);
    return {known.prepared, known.extent, known.size()};
  } catch (const LeftToLibrary&) {
    Aint lower_bound = 0, extent = 0;
    Count size = 0;
    real_pmpi().MPI_Type_get_extent(type, &lower_bound, &extent);
    real_pmpi().MPI_Type_size_x(type, &size);
    return {nullptr, extent, size};
  }
}

class Collector {
 public:
  Collector(const Argument& argument, Handle comm) : argument_(argument), comm_(comm) {}

  // The i-th block, if it has bytes and somebody to go to.
  void add(std::vector<Step>& steps, int i, int peer) {
    const Count count = argument_.count_of(i);
    if (count < 0) throw LeftToLibrary{};
    if (count == 0 || peer == MPI_PROC_NULL) return;
    const Handle type = argument_.type_of(i);
    if (!is_known_ || type != type_) {
      element_ = element_of(type, comm_);
      type_ = type;
      is_known_ = true;
    }
    if (element_.size > 0) steps.push_back({peer, distance(i), count, type, element_.structure, element_.extent});
  }

 private:
  std::int64_t distance(int i) const {
    if (!argument_.displacements.any()) return i * argument_.count * element_.extent;
    return argument_.displacements[i] * (argument_.unit == Unit::bytes ? 1 : element_.extent);
  }

  const Argument& argument_;
  const Handle comm_;
  bool is_known_ = false;
  Handle type_ = 0;
  Element element_{};
};

// All ranks. A block that is replaced stays where it is, if it is the process's own.
std::vector<int> peers_of(const Group& group, bool is_replaced) {
  std::vector<int> ranks(static_cast<std::size_t>(group.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  if (is_replaced) ranks[static_cast<std::size_t>(group.rank)] = MPI_PROC_NULL;
  return ranks;
}

// A block for the lower neighbour of a grid comes from the upper one of that (MPI-4.1, 8.6): if they are one process,
// its upper side's message is received by our lower side, and the lower side's comes first.
std::size_t in_order_of_sender(std::size_t i, bool is_grid) { return is_grid ? i ^ 1 : i; }

void add_outs(Steps& steps, const Argument& out, Handle comm, const std::vector<int>& destinations) {
  Collector collector(out, comm);
  const bool is_same_for_all = out.n_blocks == 1;
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    const int at = is_same_for_all ? 0 : static_cast<int>(i);
    if (out.roles[at].reads) collector.add(steps.outs, at, destinations[i]);
  }
}

void add_ins(Steps& steps, const Argument& in, Handle comm, const std::vector<int>& sources, bool is_grid) {
  Collector collector(in, comm);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::size_t at = in_order_of_sender(i, is_grid);
    if (in.roles[static_cast<int>(at)].writes) collector.add(steps.ins, static_cast<int>(at), sources[at]);
  }
}

// One block of the receive buffer goes to all others.
void add_own_block(Steps& steps, const Group& group, const Argument& in, int block) {
  Collector collector(in, group.comm);
  for (int peer = 0; peer < group.size; ++peer) {
    if (peer != group.rank) collector.add(steps.outs, block, peer);
  }
}

void add_broadcast(Steps& steps, const Group& group, const Argument& in, int root) {
  if (group.rank == root) return add_own_block(steps, group, in, 0);
  Collector(in, group.comm).add(steps.ins, 0, root);
}

// False: this process does not use the argument.
bool is_used(const Argument& argument) {
  if (argument.n_blocks > 0 && argument.is_in_place()) throw LeftToLibrary{};
  return argument.n_blocks > 0;
}

// The root has a block for each process, the others have one block.
void add_scatter(Steps& steps, const Group& group, const Ends& ends) {
  if (is_used(ends.out)) add_outs(steps, ends.out, group.comm, peers_of(group, false));
  if (is_used(ends.in)) Collector(ends.in, group.comm).add(steps.ins, 0, ends.root);
}

void add_gather(Steps& steps, const Group& group, const Ends& ends) {
  if (is_used(ends.in)) add_ins(steps, ends.in, group.comm, peers_of(group, false), false);
  if (is_used(ends.out)) Collector(ends.out, group.comm).add(steps.outs, 0, ends.root);
}

void add_to_all(Steps& steps, const Group& group, const Ends& ends) {
  steps.is_replaced = ends.out.is_in_place() && ends.in.roles.usual.reads;
  const std::vector<int> peers = peers_of(group, steps.is_replaced);
  add_ins(steps, ends.in, group.comm, peers, false);
  if (steps.is_replaced) add_outs(steps, ends.in, group.comm, peers);
  else if (ends.out.is_in_place()) add_own_block(steps, group, ends.in, ends.in.roles.special);
  else add_outs(steps, ends.out, group.comm, peers);
}

void add_to_neighbors(Steps& steps, const Group& group, const Neighborhood& neighbors, const Ends& ends) {
  if (!neighbors.is_any || ends.out.is_in_place()) throw LeftToLibrary{};
  add_ins(steps, ends.in, group.comm, neighbors.sources, neighbors.is_grid);
  add_outs(steps, ends.out, group.comm, neighbors.destinations);
}

bool has_root(Pattern pattern) {
  return pattern == Pattern::broadcast || pattern == Pattern::scatter || pattern == Pattern::gather;
}

// True: all blocks of all members of a call have the same number of bytes.
bool has_equal_blocks(Function function) {
  switch (function) {
    case Function::MPI_Bcast:
    case Function::MPI_Scatter:
    case Function::MPI_Gather:
    case Function::MPI_Allgather:
    case Function::MPI_Alltoall: return true;
    default: return false;
  }
}

// Null if this process does not use the argument, because the program may pass a different value in each call.
void* address_of(const Argument& argument) {
  return argument.n_blocks > 0 ? const_cast<void*>(argument.address) : nullptr;
}

}  // namespace

Neighborhood::Neighborhood(Handle comm) {
  int topology = MPI_UNDEFINED;
  real_pmpi().MPI_Topo_test(comm, &topology);
  is_any = topology != MPI_UNDEFINED;
  if (topology == MPI_CART) look_at_grid(comm);
  else if (topology == MPI_GRAPH) look_at_graph(comm);
  else if (topology == MPI_DIST_GRAPH) look_at_distributed(comm);
}

void Neighborhood::look_at_grid(Handle comm) {
  int n_dimensions = 0;
  real_pmpi().MPI_Cartdim_get(comm, &n_dimensions);
  for (int i = 0; i < n_dimensions; ++i) {
    int lower = 0, upper = 0;
    real_pmpi().MPI_Cart_shift(comm, i, 1, &lower, &upper);
    sources.insert(sources.end(), {lower, upper});
  }
  destinations = sources;
  is_grid = true;
}

void Neighborhood::look_at_graph(Handle comm) {
  int rank = 0, n = 0;
  real_pmpi().MPI_Comm_rank(comm, &rank);
  real_pmpi().MPI_Graph_neighbors_count(comm, rank, &n);
  sources.resize(static_cast<std::size_t>(n));
  real_pmpi().MPI_Graph_neighbors(comm, rank, n, sources.data());
  destinations = sources;
}

void Neighborhood::look_at_distributed(Handle comm) {
  int n_in = 0, n_out = 0, is_weighted = 0;
  real_pmpi().MPI_Dist_graph_neighbors_count(comm, &n_in, &n_out, &is_weighted);
  sources.resize(static_cast<std::size_t>(n_in));
  destinations.resize(static_cast<std::size_t>(n_out));
  std::vector<int> in_weights(sources.size() + 1), out_weights(destinations.size() + 1);
  real_pmpi().MPI_Dist_graph_neighbors(comm, n_in, sources.data(), in_weights.data(), n_out, destinations.data(),
                                       out_weights.data());
}

Steps steps_of(Pattern pattern, const Group& group, const Neighborhood* neighbors, const Ends& ends) {
  if (!ends.out.is_sound() || !ends.in.is_sound()) throw LeftToLibrary{};
  if (has_root(pattern) && (ends.root < 0 || ends.root >= group.size)) throw LeftToLibrary{};
  Steps steps;
  steps.to = address_of(ends.in);
  steps.from = pattern == Pattern::broadcast || ends.out.is_in_place() ? steps.to : address_of(ends.out);
  switch (pattern) {
    case Pattern::broadcast: add_broadcast(steps, group, ends.in, ends.root); break;
    case Pattern::scatter: add_scatter(steps, group, ends); break;
    case Pattern::gather: add_gather(steps, group, ends); break;
    case Pattern::to_all: add_to_all(steps, group, ends); break;
    case Pattern::to_neighbors: add_to_neighbors(steps, group, *neighbors, ends); break;
  }
  return steps;
}

bool has_large_blocks(Function function, const Ends& ends, Handle comm) try {
  if (!has_equal_blocks(function)) return false;
  const Argument& argument = ends.in.n_blocks > 0 ? ends.in : ends.out;
  const KnownType* const type = find_type(argument.type);
  const std::int64_t size = type != nullptr ? type->size() : element_of(argument.type, comm).size;
  return size > 0 && argument.count >= (kLargeBlock + size - 1) / size;
} catch (const Refused&) {
  return false;
}

}  // namespace tempi::collective
