/* A tool between the shim and the MPI library, in which one MPI_Start takes its time: see slow_start.h. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <time.h>
#include <unistd.h>

#include "slow_start.h"

enum { HOLD_SECONDS = 2, GOING_ON_MICROSECONDS = 200 * 1000 };

struct SlowStart slow_start;

/* Not for good: the program says go on only after the MPI_Isend that this Start may be part of. */
static void hold(void) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += HOLD_SECONDS;
  atomic_store(&slow_start.is_inside, 1);
  sem_post(&slow_start.entered);
  if (sem_timedwait(&slow_start.go_on, &end) == 0) usleep(GOING_ON_MICROSECONDS);
  atomic_store(&slow_start.is_inside, 0);
}

int PMPI_Start(MPI_Request* request) {
  if (atomic_fetch_sub(&slow_start.starts_left, 1) == 1) hold();
  return ((int (*)(MPI_Request*))dlsym(RTLD_NEXT, "PMPI_Start"))(request);
}
int MPI_Start(MPI_Request* request) { return PMPI_Start(request); }
