/* A tool between the shim and the library that passes calls on by their profiling names, which are the shim's. */
#include <mpi.h>

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Type_commit(MPI_Datatype* type) { return PMPI_Type_commit(type); }

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) { return PMPI_Comm_dup(comm, made); }

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return PMPI_Isend(buffer, count, type, peer, tag, comm, request);
}

int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  return PMPI_Irecv(buffer, count, type, peer, tag, comm, request);
}

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status* status) {
  return PMPI_Recv(buffer, count, type, peer, tag, comm, status);
}

int MPI_Start(MPI_Request* request) { return PMPI_Start(request); }

int MPI_Wait(MPI_Request* request, MPI_Status* status) { return PMPI_Wait(request, status); }

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  return PMPI_Waitall(count, requests, statuses);
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) { return PMPI_Test(request, flag, status); }

int MPI_Cancel(MPI_Request* request) { return PMPI_Cancel(request); }

int MPI_Request_free(MPI_Request* request) { return PMPI_Request_free(request); }

int MPI_Finalize(void) { return PMPI_Finalize(); }
