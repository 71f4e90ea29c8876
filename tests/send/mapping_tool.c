/* A tool between the shim and the library: ends the job where the library is given GPU memory (of the fake device) that
 * another process of the node may be the peer of. A CUDA-aware library maps such memory there; UCX aborts where the
 * driver refuses that, as freed memory at its place is still mapped by somebody else. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_on_gpu(const void* buffer) {
  char line[512];
  int found = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (!found && fgets(line, sizeof line, maps) != NULL) {
    unsigned long begin, end;
    if (strstr(line, "tempi_fake_device") == NULL || sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
    found = (unsigned long)buffer >= begin && (unsigned long)buffer < end;
  }
  fclose(maps);
  return found;
}

static void check(const char* call, const void* buffer, MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  if (size < 2 || buffer == MPI_IN_PLACE || !is_on_gpu(buffer)) return;
  fprintf(stderr, "the library is given GPU memory by %s\n", call);
  abort();
}

#define ONE(name, parameters, arguments) \
  int MPI_##name parameters {            \
    check(#name, buffer, comm);          \
    return PMPI_##name arguments;        \
  }
#define MESSAGE const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm
#define RECEIVE void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm
#define REQUEST MPI_Request* request
ONE(Send, (MESSAGE), (buffer, count, type, peer, tag, comm))
ONE(Ssend, (MESSAGE), (buffer, count, type, peer, tag, comm))
ONE(Isend, (MESSAGE, REQUEST), (buffer, count, type, peer, tag, comm, request))
ONE(Issend, (MESSAGE, REQUEST), (buffer, count, type, peer, tag, comm, request))
ONE(Send_init, (MESSAGE, REQUEST), (buffer, count, type, peer, tag, comm, request))
ONE(Recv, (RECEIVE, MPI_Status* status), (buffer, count, type, peer, tag, comm, status))
ONE(Irecv, (RECEIVE, REQUEST), (buffer, count, type, peer, tag, comm, request))
ONE(Recv_init, (RECEIVE, REQUEST), (buffer, count, type, peer, tag, comm, request))
ONE(Bcast, (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm), (buffer, count, type, root, comm))

#define TWO(name, parameters, arguments) \
  int MPI_##name parameters {            \
    check(#name, sendbuf, comm);         \
    check(#name, recvbuf, comm);         \
    return PMPI_##name arguments;        \
  }
#define BOTH_WAYS                                                                                               \
  const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, \
      MPI_Comm comm
TWO(Alltoall, (BOTH_WAYS), (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
TWO(Allgather, (BOTH_WAYS), (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
TWO(Iallgather, (BOTH_WAYS, REQUEST), (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request))
TWO(Allreduce, (const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
    (sendbuf, recvbuf, count, type, op, comm))
TWO(Iallreduce,
    (const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, REQUEST),
    (sendbuf, recvbuf, count, type, op, comm, request))
TWO(Sendrecv,
    (const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf, int recvcount,
     MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status),
    (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status))
