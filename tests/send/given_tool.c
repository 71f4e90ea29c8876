/* A tool between the shim and the library: notes the address of each buffer that the library is given, and the large
 * count of a send. */
#include <mpi.h>

enum { MOST = 64 };
const void* given_buffers[MOST];
int n_given;
long long given_count;

static void note(const void* buffer) {
  if (n_given < MOST) given_buffers[n_given++] = buffer;
}

#define BLOCKING_SEND(name)                                                                            \
  int MPI_##name(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) { \
    note(buffer);                                                                                      \
    return PMPI_##name(buffer, count, type, peer, tag, comm);                                          \
  }
#define STARTED_SEND(name)                                                                           \
  int MPI_##name(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, \
                 MPI_Request* request) {                                                             \
    note(buffer);                                                                                    \
    return PMPI_##name(buffer, count, type, peer, tag, comm, request);                               \
  }
#define STARTED_RECEIVE(name)                                                                                          \
  int MPI_##name(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) { \
    note(buffer);                                                                                                      \
    return PMPI_##name(buffer, count, type, peer, tag, comm, request);                                                 \
  }

BLOCKING_SEND(Send)
BLOCKING_SEND(Ssend)
STARTED_SEND(Isend)
STARTED_SEND(Issend)
STARTED_SEND(Send_init)
STARTED_SEND(Ssend_init)
STARTED_RECEIVE(Irecv)
STARTED_RECEIVE(Recv_init)

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status* status) {
  note(buffer);
  return PMPI_Recv(buffer, count, type, peer, tag, comm, status);
}

int MPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  note(buffer);
  return PMPI_Mrecv(buffer, count, type, message, status);
}

#if MPI_VERSION >= 4
#define LARGE_SEND(name)                                                                                         \
  int MPI_##name##_c(const void* buffer, MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) { \
    given_count = count;                                                                                         \
    return PMPI_##name##_c(buffer, count, type, peer, tag, comm);                                                \
  }
#define LARGE_STARTED_SEND(name)                                                                               \
  int MPI_##name##_c(const void* buffer, MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, \
                     MPI_Request* request) {                                                                   \
    given_count = count;                                                                                       \
    return PMPI_##name##_c(buffer, count, type, peer, tag, comm, request);                                     \
  }

LARGE_SEND(Send)
LARGE_SEND(Ssend)
LARGE_STARTED_SEND(Isend)
LARGE_STARTED_SEND(Issend)
LARGE_STARTED_SEND(Send_init)
LARGE_STARTED_SEND(Ssend_init)
#endif
