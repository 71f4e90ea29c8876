// MPI-4.1, 6.4 to 6.8, 6.12, 6.13 and 8.6 to 8.8: collective calls that move data. Those of host
// memory are the library's, unless members of the communicator use GPUs (collective/agreement.hpp), or packing is
// predicted to be faster (collective/stage.hpp, own_block.hpp).
#include "interpose/collective_entry.hpp"

namespace tempi::interpose {

using namespace collective;

#define TEMPI_SEND(Number) const void *sendbuf, Number sendcount, Handle sendtype
#define TEMPI_RECV(Number) void *recvbuf, Number recvcount, Handle recvtype
#define TEMPI_SENDV(Number, Displacement) \
  const void *sendbuf, const Number *sendcounts, const Displacement *sdispls, Handle sendtype
#define TEMPI_RECVV(Number, Displacement) \
  void *recvbuf, const Number *recvcounts, const Displacement *rdispls, Handle recvtype
#define TEMPI_SENDW(Number, Displacement) \
  const void *sendbuf, const Number *sendcounts, const Displacement *sdispls, const void *sendtypes
#define TEMPI_RECVW(Number, Displacement) \
  void *recvbuf, const Number *recvcounts, const Displacement *rdispls, const void *recvtypes

#define TEMPI_BCAST(N, D) (void* buffer, N count, Handle datatype, int root, Handle comm)
#define TEMPI_GATHER(N, D) (TEMPI_SEND(N), TEMPI_RECV(N), int root, Handle comm)
#define TEMPI_GATHERV(N, D) (TEMPI_SEND(N), TEMPI_RECVV(N, D), int root, Handle comm)
#define TEMPI_SCATTERV(N, D) (TEMPI_SENDV(N, D), TEMPI_RECV(N), int root, Handle comm)
#define TEMPI_ALLGATHER(N, D) (TEMPI_SEND(N), TEMPI_RECV(N), Handle comm)
#define TEMPI_ALLGATHERV(N, D) (TEMPI_SEND(N), TEMPI_RECVV(N, D), Handle comm)
#define TEMPI_ALLTOALLV(N, D) (TEMPI_SENDV(N, D), TEMPI_RECVV(N, D), Handle comm)
#define TEMPI_ALLTOALLW(N, D) (TEMPI_SENDW(N, D), TEMPI_RECVW(N, D), Handle comm)
#define TEMPI_NEIGHBOR_ALLTOALLW(N, D) (TEMPI_SENDW(N, Aint), TEMPI_RECVW(N, Aint), Handle comm)

#define TEMPI_ONE (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)
#define TEMPI_ONE_TO_SEVERAL (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype)
#define TEMPI_SEVERAL_TO_ONE (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcount, recvtype)
#define TEMPI_SEVERAL (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype)
#define TEMPI_SEVERAL_TYPES (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes)

TEMPI_COLLECTIVE(MPI_Bcast, MPI_Ibcast, MPI_Bcast_init, TEMPI_BCAST, exchange, Rooted<describe_bcast>{root},
                 (buffer, count, datatype), (root, comm))
TEMPI_COLLECTIVE(MPI_Gather, MPI_Igather, MPI_Gather_init, TEMPI_GATHER, exchange, Rooted<describe_gather>{root},
                 TEMPI_ONE, (root, comm))
TEMPI_COLLECTIVE(MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init, TEMPI_GATHERV, exchange, Rooted<describe_gather>{root},
                 TEMPI_ONE_TO_SEVERAL, (root, comm))
TEMPI_COLLECTIVE(MPI_Scatter, MPI_Iscatter, MPI_Scatter_init, TEMPI_GATHER, exchange, Rooted<describe_scatter>{root},
                 TEMPI_ONE, (root, comm))
TEMPI_COLLECTIVE(MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init, TEMPI_SCATTERV, exchange,
                 Rooted<describe_scatter>{root}, TEMPI_SEVERAL_TO_ONE, (root, comm))
TEMPI_COLLECTIVE(MPI_Allgather, MPI_Iallgather, MPI_Allgather_init, TEMPI_ALLGATHER, exchange, &describe_allgather,
                 TEMPI_ONE, (comm))
TEMPI_COLLECTIVE(MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init, TEMPI_ALLGATHERV, exchange, &describe_allgatherv,
                 TEMPI_ONE_TO_SEVERAL, (comm))
TEMPI_COLLECTIVE(MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init, TEMPI_ALLGATHER, exchange, &describe_alltoall,
                 TEMPI_ONE, (comm))
TEMPI_COLLECTIVE(MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init, TEMPI_ALLTOALLV, exchange, &describe_alltoall,
                 TEMPI_SEVERAL, (comm))
TEMPI_COLLECTIVE(MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init, TEMPI_ALLTOALLW, exchange, &describe_alltoall,
                 TEMPI_SEVERAL_TYPES, (comm))

TEMPI_COLLECTIVE(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, MPI_Neighbor_allgather_init, TEMPI_ALLGATHER,
                 exchange, &describe_neighbor_allgather, TEMPI_ONE, (comm))
TEMPI_COLLECTIVE(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, MPI_Neighbor_allgatherv_init, TEMPI_ALLGATHERV,
                 exchange, &describe_neighbor_allgather, TEMPI_ONE_TO_SEVERAL, (comm))
TEMPI_COLLECTIVE(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, MPI_Neighbor_alltoall_init, TEMPI_ALLGATHER, exchange,
                 &describe_neighbor_alltoall, TEMPI_ONE, (comm))
TEMPI_COLLECTIVE(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, MPI_Neighbor_alltoallv_init, TEMPI_ALLTOALLV,
                 exchange, &describe_neighbor_alltoall, TEMPI_SEVERAL, (comm))
TEMPI_COLLECTIVE(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw_init, TEMPI_NEIGHBOR_ALLTOALLW,
                 exchange, &describe_neighbor_alltoall, TEMPI_SEVERAL_TYPES, (comm))

}  // namespace tempi::interpose
