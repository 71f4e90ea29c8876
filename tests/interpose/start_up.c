/* What the shim adds to MPI_Init: bytes of memory, and microseconds, of the rank of a job as large as the tool says. */
#define _GNU_SOURCE
#include "start_up.h"

#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct StartUp now = start_up_now();
  MPI_Send(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  printf("%zu %.1f\n", now.bytes - start_up.bytes, now.microseconds - start_up.microseconds);
  MPI_Finalize();
  return 0;
}
