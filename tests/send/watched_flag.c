/* A program of MPI_THREAD_SINGLE that makes no MPI call between its sends and a word of the receiver in shared memory.
 *
 *     watched_flag FILE MESSAGES before|behind
 *
 * Rank 0 sends strided fake device memory with MPI_Isend and then watches the flag in FILE, which rank 1 sets when it
 * has received all. The receives are posted before the sends, or behind them. Rank 0 prints the level that
 * MPI_Query_thread tells. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "face/api.h"

enum { MOST = 8, N = 64, BYTES = 4 * 2 * N };

static const tempi_api_table* tempi;
static char* memory[MOST];
static MPI_Datatype strided;
static MPI_Request requests[MOST];

static atomic_int* map_flag(const char* path) {
  const int file = open(path, O_RDWR);
  void* const page = mmap(NULL, sizeof(atomic_int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  return page;
}

static void fill(int i, int factor) {
  int image[2 * N];
  for (int k = 0; k < 2 * N; ++k) image[k] = factor * (1000 * i + k + 1);
  tempi->fake_copy(memory[i], image, BYTES);
}

static int has_arrived(int i) {
  int image[2 * N], is_right = 1;
  tempi->fake_copy(image, memory[i], BYTES);
  for (int k = 0; k < 2 * N; ++k) is_right = is_right && image[k] == (k % 2 == 0 ? 1000 * i + k + 1 : 0);
  return is_right;
}

static void start_sends(int n) {
  for (int i = 0; i < n; ++i) MPI_Isend(memory[i], 1, strided, 1, i, MPI_COMM_WORLD, &requests[i]);
}

static void start_receives(int n) {
  for (int i = 0; i < n; ++i) MPI_Irecv(memory[i], 1, strided, 0, i, MPI_COMM_WORLD, &requests[i]);
}

static void send_and_watch(int n, atomic_int* flag) {
  start_sends(n);
  while (atomic_load(flag) == 0) usleep(100);
}

static void receive(int n, int is_before, atomic_int* flag) {
  if (!is_before) {
    usleep(20000); /* rank 0 has sent */
    start_receives(n);
  }
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; ++i) {
    if (!has_arrived(i)) MPI_Abort(MPI_COMM_WORLD, 2);
  }
  atomic_store(flag, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int n = atoi(argv[2]), is_before = strcmp(argv[3], "before") == 0;
  int rank, level;
  atomic_int* const flag = map_flag(argv[1]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Query_thread(&level);
  tempi = ((const tempi_api_table* (*)(void))dlsym(RTLD_DEFAULT, "tempi_api"))();
  MPI_Type_vector(N, 1, 2, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  for (int i = 0; i < n; ++i) {
    memory[i] = tempi->fake_allocate("device", rank, BYTES);
    fill(i, rank == 0);
  }
  if (rank == 1 && is_before) start_receives(n);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) send_and_watch(n, flag);
  else receive(n, is_before, flag);
  if (rank == 0) MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) printf("level %d\n", level);
  for (int i = 0; i < n; ++i) tempi->fake_deallocate(memory[i]);
  MPI_Type_free(&strided);
  MPI_Finalize();
  return 0;
}
