/* A tool between the shim and the library: notes the addresses of the buffers that the library is given for reductions,
 * for MPI_Iallgather and for one-sided calls. */
#include <mpi.h>

enum { MOST = 64 };
const void* given_buffers[MOST];
int n_given;

static void note(const void* buffer) {
  if (buffer != MPI_IN_PLACE && n_given < MOST) given_buffers[n_given++] = buffer;
}

#define NOTED(name, parameters, arguments) \
  int MPI_##name parameters {              \
    note(sendbuf);                         \
    note(recvbuf);                         \
    return PMPI_##name arguments;          \
  }
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define NOTED_4 NOTED
#else
#define NOTED_4(name, parameters, arguments)
#endif

#define BUFFERS const void *sendbuf, void *recvbuf
#define ALL BUFFERS, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define REDUCTION(name, nonblocking)                                                                  \
  NOTED(name, (ALL), (sendbuf, recvbuf, count, type, op, comm))                                       \
  NOTED(nonblocking, (ALL, MPI_Request * request), (sendbuf, recvbuf, count, type, op, comm, request)) \
  NOTED_4(name##_init, (ALL, MPI_Info info, MPI_Request * request), (sendbuf, recvbuf, count, type, op, comm, info, request))

REDUCTION(Allreduce, Iallreduce)
REDUCTION(Scan, Iscan)
REDUCTION(Exscan, Iexscan)
REDUCTION(Reduce_scatter_block, Ireduce_scatter_block)

#define TO_ROOT BUFFERS, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm
NOTED(Reduce, (TO_ROOT), (sendbuf, recvbuf, count, type, op, root, comm))
NOTED(Ireduce, (TO_ROOT, MPI_Request* request), (sendbuf, recvbuf, count, type, op, root, comm, request))
NOTED_4(Reduce_init, (TO_ROOT, MPI_Info info, MPI_Request* request),
        (sendbuf, recvbuf, count, type, op, root, comm, info, request))

#define COUNTS BUFFERS, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm
NOTED(Reduce_scatter, (COUNTS), (sendbuf, recvbuf, counts, type, op, comm))
NOTED(Ireduce_scatter, (COUNTS, MPI_Request* request), (sendbuf, recvbuf, counts, type, op, comm, request))
NOTED_4(Reduce_scatter_init, (COUNTS, MPI_Info info, MPI_Request* request),
        (sendbuf, recvbuf, counts, type, op, comm, info, request))

NOTED(Reduce_local, (BUFFERS, int count, MPI_Datatype type, MPI_Op op), (sendbuf, recvbuf, count, type, op))

NOTED(Iallgather,
      (const void* sendbuf, int sent, MPI_Datatype sendtype, void* recvbuf, int received, MPI_Datatype recvtype,
       MPI_Comm comm, MPI_Request* request),
      (sendbuf, sent, sendtype, recvbuf, received, recvtype, comm, request))

int MPI_Accumulate(const void* buffer, int count, MPI_Datatype type, int rank, MPI_Aint at, int n, MPI_Datatype there,
                   MPI_Op op, MPI_Win window) {
  note(buffer);
  return PMPI_Accumulate(buffer, count, type, rank, at, n, there, op, window);
}

int MPI_Put(const void* buffer, int count, MPI_Datatype type, int rank, MPI_Aint at, int n, MPI_Datatype there,
            MPI_Win window) {
  note(buffer);
  return PMPI_Put(buffer, count, type, rank, at, n, there, window);
}
