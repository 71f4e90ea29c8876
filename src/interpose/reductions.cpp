// MPI-4.1, 6.9 to 6.11, 6.12 and 6.13: reductions. Kernels reduce GPU memory: in MPI_Reduce_local, and among the GPUs
// of a node (collective/node_reduction.hpp, later_reductions.hpp). Operations of the program run on the CPU: they and
// all else are reduced in host memory.
#include "collective/reduction.hpp"
#include "interpose/collective_entry.hpp"

namespace tempi::interpose {

using namespace collective;

#define TEMPI_REDUCE(N, D) \
  (const void* sendbuf, void* recvbuf, N count, Handle datatype, Handle op, int root, Handle comm)
#define TEMPI_ALLREDUCE(N, D) (const void* sendbuf, void* recvbuf, N count, Handle datatype, Handle op, Handle comm)
#define TEMPI_REDUCE_SCATTER(N, D) \
  (const void* sendbuf, void* recvbuf, const N* recvcounts, Handle datatype, Handle op, Handle comm)

TEMPI_COLLECTIVE(MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, TEMPI_REDUCE, reduce, (ReducingToRoot{op, root}),
                 (sendbuf, recvbuf, count, datatype), (op, root, comm))
TEMPI_COLLECTIVE(MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, TEMPI_ALLREDUCE, reduce,
                 Reducing<describe_allreduce>{op}, (sendbuf, recvbuf, count, datatype), (op, comm))
TEMPI_COLLECTIVE(MPI_Scan, MPI_Iscan, MPI_Scan_init, TEMPI_ALLREDUCE, reduce, Reducing<describe_allreduce>{op},
                 (sendbuf, recvbuf, count, datatype), (op, comm))
TEMPI_COLLECTIVE(MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, TEMPI_ALLREDUCE, reduce, Reducing<describe_exscan>{op},
                 (sendbuf, recvbuf, count, datatype), (op, comm))
TEMPI_COLLECTIVE(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init, TEMPI_ALLREDUCE,
                 reduce, Reducing<describe_reduce_scatter_block>{op}, (sendbuf, recvbuf, count, datatype), (op, comm))
TEMPI_COLLECTIVE(MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init, TEMPI_REDUCE_SCATTER, reduce,
                 ReducingScattered{op}, (sendbuf, recvbuf, recvcounts, datatype), (op, comm))

namespace {

template <class Number, class Library>
int reduce_local(const Real& real, const Library& library, const void* inbuf, void* inoutbuf, Number count,
                 Handle datatype, Handle op) noexcept {
  const Call call{real, Function::MPI_Reduce_local, comm_self(), Lifetime::call};
  const Argument in = buffer_of(inbuf, count, datatype), inout = buffer_of(inoutbuf, count, datatype);
  make_progress();
  if (const std::optional<int> code = reduce_on_gpu(call, in, inout, op)) return tended(*code);
  return run_alone(call, {in, inout}, &describe_reduce_local,
                   [&](const GivenArgument& from, const GivenArgument& to, const GivenArgument&) {
                     return library(from.address, to.writable(), count, datatype, op);
                   });
}

}  // namespace

#define TEMPI_REDUCE_LOCAL(entry, Number)                                                                            \
  TEMPI_ENTRY(entry, (const void* inbuf, void* inoutbuf, Number count, Handle datatype, Handle op),                  \
              reduce_local(                                                                                          \
                  real, [&](auto... arguments) { return call_if_there(real.entry, arguments...); }, inbuf, inoutbuf, \
                  count, datatype, op))

TEMPI_REDUCE_LOCAL(MPI_Reduce_local, int)
TEMPI_REDUCE_LOCAL(MPI_Reduce_local_c, Count)

}  // namespace tempi::interpose
