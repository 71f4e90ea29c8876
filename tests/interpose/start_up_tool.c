/* A tool between the shim and the library: notes when MPI_Init is done, and says that the job has JOB_SIZE ranks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

#include "start_up.h"

struct StartUp start_up;

int MPI_Init(int* argc, char*** argv) {
  const int code = ((int (*)(int*, char***))dlsym(RTLD_NEXT, "PMPI_Init"))(argc, argv);
  start_up = start_up_now();
  return code;
}
int PMPI_Init(int* argc, char*** argv) { return MPI_Init(argc, argv); }

int MPI_Comm_size(MPI_Comm comm, int* size) {
  const int code = ((int (*)(MPI_Comm, int*))dlsym(RTLD_NEXT, "PMPI_Comm_size"))(comm, size);
  if (comm == MPI_COMM_WORLD && *size == 1) *size = atoi(getenv("JOB_SIZE"));
  return code;
}
int PMPI_Comm_size(MPI_Comm comm, int* size) { return MPI_Comm_size(comm, size); }
