/* A minimal tool between the shim and the library: counts the calls about persistent requests. */
#include <mpi.h>
#include <stdio.h>

static int made, started, freed;

int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  ++made;
  return PMPI_Send_init(buffer, count, type, peer, tag, comm, request);
}

int MPI_Start(MPI_Request* request) {
  ++started;
  return PMPI_Start(request);
}

int MPI_Request_free(MPI_Request* request) {
  ++freed;
  return PMPI_Request_free(request);
}

int MPI_Finalize(void) {
  fprintf(stderr, "made %d, started %d, freed %d\n", made, started, freed);
  return PMPI_Finalize();
}
