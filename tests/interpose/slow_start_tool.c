/* A tool between the shim and the MPI library, in which MPI_Start takes its time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

int PMPI_Start(MPI_Request* request) {
  usleep(200 * 1000);
  return ((int (*)(MPI_Request*))dlsym(RTLD_NEXT, "PMPI_Start"))(request);
}
int MPI_Start(MPI_Request* request) { return PMPI_Start(request); }
