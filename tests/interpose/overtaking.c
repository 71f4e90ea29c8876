/* Rank 0 sends messages of fake device memory, then one of host memory from another thread, while a message before it is
 * being started. Rank 1 prints "ok" when they arrive in the order of the sends, and "untried" when no round had a
 * message being started. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include "face/api.h"
#include "slow_start.h"

enum { MANAGED = 2, TRIED_ROUNDS = 3, MOST_ROUNDS = 20, INTS = 64 };

static sem_t sent;
static int from_host[2 * INTS];
static struct SlowStart* tool;

/* Is tried: the message before this one is being started. Its own MPI_Isend may have started it. */
static void* send_last(void* is_tried) {
  MPI_Request request;
  sem_wait(&sent);
  sem_wait(&tool->entered);
  *(int*)is_tried = atomic_load(&tool->is_inside);
  sem_post(&tool->go_on);
  from_host[0] = MANAGED;
  MPI_Isend(from_host, INTS, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return NULL;
}

static int send_all(int* const* buffers, MPI_Datatype type) {
  MPI_Request requests[MANAGED];
  pthread_t thread;
  int is_tried = 0;
  sem_init(&tool->entered, 0, 0);
  sem_init(&tool->go_on, 0, 0);
  atomic_store(&tool->starts_left, MANAGED);
  pthread_create(&thread, NULL, send_last, &is_tried);
  for (int i = 0; i < MANAGED; ++i) MPI_Isend(buffers[i], 1, type, 1, 0, MPI_COMM_WORLD, &requests[i]);
  sem_post(&sent);
  MPI_Waitall(MANAGED, requests, MPI_STATUSES_IGNORE);
  pthread_join(thread, NULL);
  return is_tried;
}

static int receive_all(void) {
  int received[INTS], wrong = 0;
  for (int i = 0; i <= MANAGED; ++i) {
    MPI_Recv(received, INTS, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (received[0] != i) wrong = printf("message %d came in the place of %d\n", received[0], i);
  }
  return wrong;
}

int main(int argc, char** argv) {
  int provided, rank, wrong = 0, n_tried = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const tempi_api_table* tempi = ((const tempi_api_table* (*)(void))dlsym(RTLD_DEFAULT, "tempi_api"))();
  tool = dlsym(RTLD_DEFAULT, "slow_start");
  MPI_Datatype type;
  MPI_Type_vector(INTS, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  sem_init(&sent, 0, 0);
  int* buffers[MANAGED];
  for (int i = 0; i < MANAGED; ++i) {
    int image[2 * INTS] = {i};
    buffers[i] = tempi->fake_allocate("device", 0, sizeof image);
    tempi->fake_copy(buffers[i], image, sizeof image);
  }
  if (provided == MPI_THREAD_MULTIPLE) {
    for (int round = 0; round < MOST_ROUNDS && n_tried < TRIED_ROUNDS; ++round) {
      if (rank == 0) n_tried += send_all(buffers, type);
      if (rank == 1) wrong |= receive_all();
      MPI_Bcast(&n_tried, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 1 && !wrong) puts(n_tried > 0 ? "ok" : "untried");
  } else if (rank == 1) {
    puts("no threads");
  }
  MPI_Type_free(&type);
  MPI_Finalize();
  return 0;
}
