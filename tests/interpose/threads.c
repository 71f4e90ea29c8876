/* Threads that pack at the same time under MPI_THREAD_MULTIPLE, each with its own types and buffers, committing and
 * freeing as they go. With the argument "fake", device memory is the fake device's. Prints "ok" or the error. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "face/api.h"
#include "run_threads.h"

enum { ROUNDS = 200, BYTES = 8192 };

static const tempi_api_table* tempi;  // null: host memory only
static int wrong;

static unsigned char* allocate(int thread) {
  return tempi ? tempi->fake_allocate("device", thread % 2, BYTES) : malloc(BYTES);
}

static void release(unsigned char* data) {
  if (tempi) {
    tempi->fake_deallocate(data);
  } else {
    free(data);
  }
}

static void copy(void* to, const void* from) {
  if (tempi) {
    tempi->fake_copy(to, from, BYTES);
  } else {
    memcpy(to, from, BYTES);
  }
}

static void check(int blocks, int block, int stride, const unsigned char* source, const unsigned char* packed) {
  for (int i = 0; i < blocks; ++i) {
    if (memcmp(packed + i * block, source + i * stride, block)) __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
  }
}

static void round_trip(int round, unsigned char* image, unsigned char* source, unsigned char* target) {
  int blocks = 1 + round % 60, block = 1 + round % 17, stride = block + 1 + round % 5, position = 0;
  unsigned char packed[BYTES], back[BYTES];
  MPI_Datatype type;
  MPI_Type_vector(blocks, block, stride, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  copy(source, image);
  MPI_Pack(source, 1, type, packed, BYTES, &position, MPI_COMM_SELF);
  check(blocks, block, stride, image, packed);
  int size = position;
  position = 0;
  MPI_Unpack(packed, size, &position, target, 1, type, MPI_COMM_SELF);
  copy(back, target);
  for (int i = 0; i < blocks; ++i) check(1, block, 0, image + i * stride, back + i * stride);
  MPI_Type_free(&type);
}

static void* work(void* argument) {
  int thread = (int)(size_t)argument;
  unsigned char image[BYTES], *source = allocate(thread), *target = allocate(thread);
  for (int i = 0; i < BYTES; ++i) image[i] = (unsigned char)(i * 7 + thread * 31);
  for (int round = 0; round < ROUNDS; ++round) round_trip(round * 7 + thread, image, source, target);
  release(source);
  release(target);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (argc > 1 && !strcmp(argv[1], "fake")) {
    tempi = ((const tempi_api_table* (*)(void))dlsym(RTLD_DEFAULT, "tempi_api"))();
  }
  puts(run_threads(provided, work, &wrong));
  MPI_Finalize();
  return 0;
}
