/* Threads that send to themselves at the same time under MPI_THREAD_MULTIPLE: rows of fake device memory, received there
 * and in host memory, completed in all ways, some started by the progress thread. Each on its own communicator; with the
 * argument "shared" all with the same arguments. Prints "ok" or the error. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "face/api.h"
#include "run_threads.h"

enum { ROUNDS = 50, MESSAGES = 4, INTS = 100, SOURCE_BYTES = 2 * INTS * sizeof(int) };

static const tempi_api_table* tempi;
static MPI_Datatype type;
static MPI_Comm comms[THREADS];
static int* shared[MESSAGES]; /* what all threads send, if it is not null */
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

static int value(int i, int message, int round, int thread) { return i * 7 + message * 31 + round * 101 + thread; }

static void fill(int* source, int message, int round, int thread) {
  int image[2 * INTS];
  for (int i = 0; i < 2 * INTS; ++i) image[i] = value(i, message, round, thread);
  tempi->fake_copy(source, image, sizeof image);
}

static void check(const int* target, int message, int round, int thread) {
  int received[INTS];
  tempi->fake_copy(received, target, sizeof received);
  for (int i = 0; i < INTS; ++i) {
    if (received[i] != value(2 * i, message, round, thread)) __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
  }
}

static void exchange(MPI_Comm comm, int round, int** sources, int** targets) {
  MPI_Request requests[2 * MESSAGES];
  for (int m = 0; m < MESSAGES; ++m) {
    MPI_Irecv(targets[m], INTS, MPI_INT, 0, m, comm, &requests[m]);
    MPI_Isend(sources[m], 1, type, 0, m, comm, &requests[MESSAGES + m]);
  }
  complete(round, requests);
}

static void* work(void* argument) {
  const int thread = (int)(size_t)argument;
  int host[MESSAGES][INTS], *sources[MESSAGES], *targets[MESSAGES];
  for (int m = 0; m < MESSAGES; ++m) {
    sources[m] = tempi->fake_allocate("device", thread % 2, SOURCE_BYTES);
    targets[m] = thread % 2 ? tempi->fake_allocate("device", 1, sizeof host[m]) : host[m];
  }
  for (int round = 0; round < ROUNDS; ++round) {
    for (int m = 0; m < MESSAGES && !shared[0]; ++m) fill(sources[m], m, round, thread);
    exchange(comms[shared[0] ? 0 : thread], round, shared[0] ? shared : sources, targets);
    for (int m = 0; m < MESSAGES; ++m) check(targets[m], m, shared[0] ? 0 : round, shared[0] ? 0 : thread);
  }
  for (int m = 0; m < MESSAGES; ++m) {
    tempi->fake_deallocate(sources[m]);
    if (targets[m] != host[m]) tempi->fake_deallocate(targets[m]);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  tempi = ((const tempi_api_table* (*)(void))dlsym(RTLD_DEFAULT, "tempi_api"))();
  MPI_Type_vector(INTS, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
  for (int m = 0; m < MESSAGES && argc > 1 && strcmp(argv[1], "shared") == 0; ++m) {
    shared[m] = tempi->fake_allocate("device", 0, SOURCE_BYTES);
    fill(shared[m], m, 0, 0);
  }
  puts(run_threads(provided, work, &wrong));
  for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&comms[i]);
  MPI_Type_free(&type);
  MPI_Finalize();
  return 0;
}
