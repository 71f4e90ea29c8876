/* Threads that send to themselves at the same time under MPI_THREAD_MULTIPLE, each on its own communicator: rows of
 * fake device memory, completed in all ways, some started by the progress thread. Prints "ok" or the error. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "face/api.h"
#include "run_threads.h"

enum { ROUNDS = 50, MESSAGES = 4, INTS = 100 };

static const tempi_api_table* tempi;
static MPI_Datatype type;
static MPI_Comm comms[THREADS];
static int wrong;

static void complete(int round, MPI_Request* requests) {
  int flag = 0, index;
  if (round % 3 == 0) MPI_Waitall(2 * MESSAGES, requests, MPI_STATUSES_IGNORE);
  if (round % 3 == 1) {
    while (!flag) MPI_Testall(2 * MESSAGES, requests, &flag, MPI_STATUSES_IGNORE), sched_yield();
  }
  if (round % 3 == 2) {
    for (int i = 0; i < 2 * MESSAGES; ++i) MPI_Waitany(2 * MESSAGES, requests, &index, MPI_STATUS_IGNORE);
  }
}

static void* work(void* argument) {
  const int thread = (int)(size_t)argument;
  int image[2 * INTS], received[MESSAGES][INTS], *source[MESSAGES];
  for (int i = 0; i < MESSAGES; ++i) source[i] = tempi->fake_allocate("device", thread % 2, sizeof image);
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Request requests[2 * MESSAGES];
    for (int m = 0; m < MESSAGES; ++m) {
      for (int i = 0; i < 2 * INTS; ++i) image[i] = i * 7 + m * 31 + round * 101 + thread;
      tempi->fake_copy(source[m], image, sizeof image);
      MPI_Irecv(received[m], INTS, MPI_INT, 0, m, comms[thread], &requests[m]);
      MPI_Isend(source[m], 1, type, 0, m, comms[thread], &requests[MESSAGES + m]);
    }
    complete(round, requests);
    for (int m = 0; m < MESSAGES; ++m) {
      for (int i = 0; i < INTS; ++i) {
        if (received[m][i] != i * 14 + m * 31 + round * 101 + thread) __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
      }
    }
  }
  for (int i = 0; i < MESSAGES; ++i) tempi->fake_deallocate(source[i]);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  tempi = ((const tempi_api_table* (*)(void))dlsym(RTLD_DEFAULT, "tempi_api"))();
  MPI_Type_vector(INTS, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
  puts(run_threads(provided, work, &wrong));
  for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&comms[i]);
  MPI_Type_free(&type);
  MPI_Finalize();
  return 0;
}
