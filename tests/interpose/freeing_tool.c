/* A tool between the shim and the MPI library, in which an MPI_Start fails when the program says so, and how: with the
 * code that it answers, or MPI_SUCCESS. (After an error handler that returns MPICH reports success.) The program may
 * call MPI then, as it may in an error handler. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

int (*fails)(int* code) = NULL;

int PMPI_Start(MPI_Request* request) {
  int code;
  if (fails != NULL && fails(&code)) return code;
  return ((int (*)(MPI_Request*))dlsym(RTLD_NEXT, "PMPI_Start"))(request);
}
int MPI_Start(MPI_Request* request) { return PMPI_Start(request); }
