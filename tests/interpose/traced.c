/* An MPI program whose buffers are the fake device's: packs, exchanges and unpacks vectors.
 * "exit": without finalize. "any": receives with MPI_ANY_TAG, which are posted before the sends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "face/api.h"

enum { MESSAGES = 4, BLOCKS = 512, BLOCK = 4, STRIDE = 16 };

static void* allocate(size_t bytes) {
  const tempi_api_table* (*table)(void) = (const tempi_api_table* (*)(void))dlsym(RTLD_DEFAULT, "tempi_api");
  return table ? table()->fake_allocate("device", 0, bytes) : calloc(1, bytes);
}

int main(int argc, char** argv) {
  const int any = argc > 1 && strcmp(argv[1], "any") == 0;
  int rank, ranks, position = 0;
  char* places[2 * MESSAGES];
  char packed[BLOCKS * BLOCK];
  MPI_Datatype type;
  MPI_Request requests[2 * MESSAGES];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Type_vector(BLOCKS, BLOCK, STRIDE, MPI_CHAR, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < 2 * MESSAGES; ++i) places[i] = allocate(BLOCKS * STRIDE);

  MPI_Pack(places[0], 1, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
  position = 0;
  MPI_Unpack(packed, sizeof packed, &position, places[0], 1, type, MPI_COMM_WORLD);
  int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  for (int i = 0; i < MESSAGES; ++i)
    MPI_Irecv(places[i], 1, type, previous, any ? MPI_ANY_TAG : i, MPI_COMM_WORLD, &requests[i]);
  if (any) MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < MESSAGES; ++i)
    MPI_Isend(places[MESSAGES + i], 1, type, next, i, MPI_COMM_WORLD, &requests[MESSAGES + i]);
  MPI_Waitall(2 * MESSAGES, requests, MPI_STATUSES_IGNORE);
  MPI_Irecv(places[0], 1, type, previous, any ? MPI_ANY_TAG : 9, MPI_COMM_WORLD, &requests[0]);
  MPI_Send(places[1], 1, type, next, 9, MPI_COMM_WORLD);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Isend(places[1], 1, type, next, 10, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv(places[0], 1, type, previous, any ? MPI_ANY_TAG : 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

  puts("done");
  fflush(stdout);
  if (argc > 1 && strcmp(argv[1], "exit") == 0) exit(0);
  MPI_Type_free(&type);
  MPI_Finalize();
  return 0;
}
