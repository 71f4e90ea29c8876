// The buffers of each collective operation: the blocks that are significant on this process, and their roles for the
// library (MPI-4.1, chapters 6 and 8). Arguments already have their counts and datatypes. A description adds the rest.
#pragma once

#include "collective/argument.hpp"
#include "collective/group.hpp"

namespace tempi::collective {

struct Ends {
  Argument out, in;     // of calls with one buffer, `in`
  Argument compared{};  // of MPI_Compare_and_swap
  int root = -1;        // of calls that have one
  Handle operation{};   // of a reduction
  Numbers results{};    // of MPI_Reduce_scatter: the count of each process
};

// The sum over all blocks that the library reads or writes. 0: it refuses a datatype.
std::int64_t bytes_of(const Ends& ends) noexcept;

void describe_bcast(const Group& group, Ends& ends, int root);
void describe_gather(const Group& group, Ends& ends, int root);
void describe_scatter(const Group& group, Ends& ends, int root);
void describe_allgather(const Group& group, Ends& ends);
void describe_allgatherv(const Group& group, Ends& ends);
void describe_alltoall(const Group& group, Ends& ends);
void describe_neighbor_allgather(const Group& group, Ends& ends);
void describe_neighbor_alltoall(const Group& group, Ends& ends);

void describe_reduce(const Group& group, Ends& ends, int root);
void describe_allreduce(const Group& group, Ends& ends);
void describe_reduce_local(Ends& ends);
void describe_exscan(const Group& group, Ends& ends);
void describe_reduce_scatter_block(const Group& group, Ends& ends);
// Memory for the counts that replace those of the arguments.
struct ScatterCounts {
  Count of_all, own, others;
};
void describe_reduce_scatter(const Group& group, Ends& ends, ScatterCounts& totals);

}  // namespace tempi::collective
