/* A tool between the shim and the library: notes the addresses of the buffers that the library is given for reductions,
 * for MPI_Iallgather and for one-sided calls, with int and with large counts. */
#include <mpi.h>

enum { MOST = 64 };
const void* given_buffers[MOST];
int n_given;

static void note(const void* buffer) {
  if (buffer != MPI_IN_PLACE && n_given < MOST) given_buffers[n_given++] = buffer;
}

/* S: what follows the name; N: the type of a count. */
#define NOTED(name, S, parameters, arguments) \
  int MPI_##name##S parameters {              \
    note(sendbuf);                            \
    note(recvbuf);                            \
    return PMPI_##name##S arguments;          \
  }
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define NOTED_4 NOTED
#else
#define NOTED_4(name, S, parameters, arguments)
#endif

#define BUFFERS const void *sendbuf, void *recvbuf
#define ALL(N) BUFFERS, N count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define TO_ROOT(N) BUFFERS, N count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm
#define COUNTS(N) BUFFERS, const N counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm

#define REDUCTION(name, nonblocking, S, N)                                                                   \
  NOTED(name, S, (ALL(N)), (sendbuf, recvbuf, count, type, op, comm))                                        \
  NOTED(nonblocking, S, (ALL(N), MPI_Request * request), (sendbuf, recvbuf, count, type, op, comm, request)) \
  NOTED_4(name##_init, S, (ALL(N), MPI_Info info, MPI_Request * request),                                    \
          (sendbuf, recvbuf, count, type, op, comm, info, request))

#define EVERY_FUNCTION(S, N)                                                                                       \
  REDUCTION(Allreduce, Iallreduce, S, N)                                                                           \
  REDUCTION(Scan, Iscan, S, N)                                                                                     \
  REDUCTION(Exscan, Iexscan, S, N)                                                                                 \
  REDUCTION(Reduce_scatter_block, Ireduce_scatter_block, S, N)                                                     \
  NOTED(Reduce, S, (TO_ROOT(N)), (sendbuf, recvbuf, count, type, op, root, comm))                                  \
  NOTED(Ireduce, S, (TO_ROOT(N), MPI_Request * request), (sendbuf, recvbuf, count, type, op, root, comm, request)) \
  NOTED_4(Reduce_init, S, (TO_ROOT(N), MPI_Info info, MPI_Request * request),                                      \
          (sendbuf, recvbuf, count, type, op, root, comm, info, request))                                          \
  NOTED(Reduce_scatter, S, (COUNTS(N)), (sendbuf, recvbuf, counts, type, op, comm))                                \
  NOTED(Ireduce_scatter, S, (COUNTS(N), MPI_Request * request), (sendbuf, recvbuf, counts, type, op, comm, request)) \
  NOTED_4(Reduce_scatter_init, S, (COUNTS(N), MPI_Info info, MPI_Request * request),                               \
          (sendbuf, recvbuf, counts, type, op, comm, info, request))                                               \
  NOTED(Reduce_local, S, (BUFFERS, N count, MPI_Datatype type, MPI_Op op), (sendbuf, recvbuf, count, type, op))    \
  NOTED(Iallgather, S,                                                                                             \
        (const void* sendbuf, N sent, MPI_Datatype sendtype, void* recvbuf, N received, MPI_Datatype recvtype,     \
         MPI_Comm comm, MPI_Request* request),                                                                     \
        (sendbuf, sent, sendtype, recvbuf, received, recvtype, comm, request))                                     \
  int MPI_Accumulate##S(const void* buffer, N count, MPI_Datatype type, int rank, MPI_Aint at, N n,                \
                        MPI_Datatype there, MPI_Op op, MPI_Win window) {                                           \
    note(buffer);                                                                                                  \
    return PMPI_Accumulate##S(buffer, count, type, rank, at, n, there, op, window);                                \
  }                                                                                                                \
  int MPI_Put##S(const void* buffer, N count, MPI_Datatype type, int rank, MPI_Aint at, N n, MPI_Datatype there,   \
                 MPI_Win window) {                                                                                 \
    note(buffer);                                                                                                  \
    return PMPI_Put##S(buffer, count, type, rank, at, n, there, window);                                           \
  }

EVERY_FUNCTION(, int)
#if MPI_VERSION >= 4
EVERY_FUNCTION(_c, MPI_Count)
#endif
