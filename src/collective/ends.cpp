#include "collective/ends.hpp"

#include "collective/blocks.hpp"
#include "mpi_config.h"

namespace tempi::collective {
namespace {

void use(Argument& argument, int n_blocks, Role role) {
  argument.n_blocks = n_blocks;
  argument.roles.usual = role;
}

void except(Argument& argument, int block, Role role) {
  argument.roles.special = block;
  argument.roles.of_special = role;
}

// Between two groups the root's own group says MPI_ROOT on the root, and MPI_PROC_NULL elsewhere.
bool is_root(const Group& group, int root) { return root == (group.is_inter ? MPI_ROOT : group.rank); }
bool takes_part(const Group& group, int root) { return !group.is_inter || root != MPI_PROC_NULL; }

// The library computes with elements.
void keep_elements(Ends& ends, bool is_on_host) {
  ends.out.fidelity = ends.in.fidelity = Fidelity::kept;
  ends.out.stays_on_host = ends.in.stays_on_host = is_on_host;
}

void compute(Ends& ends, Role result, bool is_on_host) {
  keep_elements(ends, is_on_host);
  if (!ends.out.is_in_place()) use(ends.out, 1, kRead);
  use(ends.in, 1, {ends.out.is_in_place(), result.writes});
}

}  // namespace

std::int64_t bytes_of(const Ends& ends) noexcept try {
  std::int64_t bytes = 0;
  for (const Argument* const one : {&ends.out, &ends.in, &ends.compared}) {
    if (!one->is_sound()) continue;
    Blocks(*one, comm_null()).each([&](const Block& block) { bytes += block.role.any() ? block.bytes() : 0; });
  }
  return bytes;
} catch (...) {
  return 0;
}

void describe_bcast(const Group& group, Ends& ends, int root) {
  ends.root = root;
  if (takes_part(group, root)) use(ends.in, 1, is_root(group, root) ? kRead : kWritten);
}

void describe_gather(const Group& group, Ends& ends, int root) {
  const bool is_here = is_root(group, root);
  ends.root = root;
  if (is_here) use(ends.in, group.n_peers, kWritten);
  if (is_here && ends.out.is_in_place()) return except(ends.in, group.rank, {});
  if (takes_part(group, root) && !(group.is_inter && is_here)) use(ends.out, 1, kRead);
}

void describe_scatter(const Group& group, Ends& ends, int root) {
  const bool is_here = is_root(group, root);
  ends.root = root;
  if (is_here) use(ends.out, group.n_peers, kRead);
  if (is_here && ends.in.is_in_place()) return except(ends.out, group.rank, {});
  if (takes_part(group, root) && !(group.is_inter && is_here)) use(ends.in, 1, kWritten);
}

void describe_allgather(const Group& group, Ends& ends) {
  use(ends.in, group.n_peers, kWritten);
  if (ends.out.is_in_place()) except(ends.in, group.rank, kRead);
  else use(ends.out, 1, kRead);
}

void describe_allgatherv(const Group& group, Ends& ends) {
  describe_allgather(group, ends);
  // Open MPI chooses the algorithm by the size of the send type: ranks of which one contributes nothing, by a datatype
  // of another size, would choose different ones and wait for ever.
  if (!ends.out.is_in_place() && ends.out.count == 0) ends.out.type = ends.in.type;
  if (!TEMPI_MPI_ABI_OPENMPI) ends.in.fidelity = Fidelity::extent;  // a library of the standard ABI may be MPICH
}

void describe_alltoall(const Group& group, Ends& ends) {
  use(ends.in, group.n_peers, ends.out.is_in_place() ? kBoth : kWritten);
  if (!ends.out.is_in_place()) use(ends.out, group.n_peers, kRead);
}

void describe_neighbor_allgather(const Group& group, Ends& ends) {
  Neighbours neighbours(group);
  use(ends.out, 1, kRead);
  use(ends.in, neighbours.n_sources, kWritten);
  ends.in.roles.is_absent = std::move(neighbours.is_absent_source);
}

void describe_neighbor_alltoall(const Group& group, Ends& ends) {
  Neighbours neighbours(group);
  use(ends.out, neighbours.n_destinations, kRead);
  use(ends.in, neighbours.n_sources, kWritten);
  ends.out.roles.is_absent = std::move(neighbours.is_absent_destination);
  ends.in.roles.is_absent = std::move(neighbours.is_absent_source);
}

void describe_reduce(const Group& group, Ends& ends, int root) {
  const bool is_here = is_root(group, root);
  ends.root = root;
  keep_elements(ends, group.is_inter);
  if (is_here) use(ends.in, 1, {ends.out.is_in_place(), true});
  if (is_here && ends.out.is_in_place()) return;
  if (takes_part(group, root) && !(group.is_inter && is_here)) use(ends.out, 1, kRead);
}

void describe_allreduce(const Group& group, Ends& ends) { compute(ends, kWritten, group.is_inter); }

void describe_reduce_local(Ends& ends) {
  compute(ends, kWritten, true);
  ends.in.roles.usual = kBoth;
}

// The first process receives nothing.
void describe_exscan(const Group& group, Ends& ends) { compute(ends, {false, group.rank != 0}, group.is_inter); }

void describe_reduce_scatter_block(const Group& group, Ends& ends) {
  compute(ends, kWritten, group.is_inter);
  if (ends.out.is_in_place()) {  // all blocks are read, the result takes the place of the first
    use(ends.in, group.size, kRead);
    except(ends.in, 0, kBoth);
  } else {
    use(ends.out, group.size, kRead);
  }
}

void describe_reduce_scatter(const Group& group, Ends& ends, ScatterCounts& totals) {
  const Numbers counts = ends.in.counts;
  if (!counts.any()) return;  // the library will refuse it
  ends.results = counts;
  totals = {0, counts[group.rank], 0};
  for (int i = 0; i < group.size; ++i) totals.of_all += counts[i];
  totals.others = totals.of_all - totals.own;
  compute(ends, kWritten, group.is_inter);
  if (ends.out.is_in_place()) {
    use(ends.in, 2, kRead);
    except(ends.in, 0, kBoth);
    ends.in.counts = &totals.own;
  } else {
    ends.out.count = totals.of_all;
    ends.in.counts = {};
    ends.in.count = totals.own;
  }
}

}  // namespace tempi::collective
