/* Rank 0 sends messages of fake device memory, then one of host memory from another thread, while a message before it is
 * being started. Rank 1 prints "ok" when they arrive in the order of the sends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

#include "interpose/api.h"

enum { MANAGED = 2, ROUNDS = 3, INTS = 64 };

static sem_t sent;
static int from_host[2 * INTS];

/* A message is being started when the last one is sent, if starting takes long; else nothing is tested. */
static void* send_last(void* milliseconds) {
  MPI_Request request;
  sem_wait(&sent);
  usleep(1000 * *(int*)milliseconds);
  from_host[0] = MANAGED;
  MPI_Isend(from_host, INTS, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return NULL;
}

static void send_all(int* const* buffers, MPI_Datatype type, int milliseconds) {
  MPI_Request requests[MANAGED];
  pthread_t thread;
  pthread_create(&thread, NULL, send_last, &milliseconds);
  for (int i = 0; i < MANAGED; ++i) MPI_Isend(buffers[i], 1, type, 1, 0, MPI_COMM_WORLD, &requests[i]);
  sem_post(&sent);
  MPI_Waitall(MANAGED, requests, MPI_STATUSES_IGNORE);
  pthread_join(thread, NULL);
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
  int provided, rank, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const tempi_api_table* tempi = ((const tempi_api_table* (*)(void))dlsym(RTLD_DEFAULT, "tempi_api"))();
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
    for (int round = 0; round < ROUNDS; ++round) {
      if (rank == 0) send_all(buffers, type, 50 + 100 * round);
      if (rank == 1) wrong |= receive_all();
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 1 && !wrong) puts("ok");
  } else if (rank == 1) {
    puts("no threads");
  }
  MPI_Type_free(&type);
  MPI_Finalize();
  return 0;
}
