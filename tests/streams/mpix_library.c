/* Stands for an MPI library that has MPICH's stream extensions: it says which functions are called. */
#include <mpi.h>
#include <stdio.h>

#define SAYS(name, parameters)                                                          \
  int P##name parameters { return printf("%s\n", #name), fflush(stdout), MPI_SUCCESS; } \
  int name parameters { return printf("%s\n", #name), fflush(stdout), MPI_SUCCESS; }

SAYS(MPIX_Stream_free, (int* stream))
SAYS(MPIX_Send_enqueue, (const void* buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm))
SAYS(MPIX_Wait_enqueue, (MPI_Request * request, MPI_Status* status))

int PMPIX_Stream_create(MPI_Info info, int* stream) {
  *stream = 0x7c000001;
  return printf("MPIX_Stream_create\n"), MPI_SUCCESS;
}
int MPIX_Stream_create(MPI_Info info, int* stream) { return PMPIX_Stream_create(info, stream); }

int PMPIX_Stream_comm_create(MPI_Comm comm, int stream, MPI_Comm* made) {
  printf("MPIX_Stream_comm_create %s\n", stream == 0x7c000001 ? "its stream" : "no stream");
  return PMPI_Comm_dup(comm, made);
}
int MPIX_Stream_comm_create(MPI_Comm comm, int stream, MPI_Comm* made) {
  return PMPIX_Stream_comm_create(comm, stream, made);
}
