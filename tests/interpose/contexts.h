/* Contexts of the way that the command line names, strided GPU memory, and calls that move it around the ring of ranks,
 * which may be one. Included once. */
#pragma once

#include <cuda.h>
#ifndef WITHOUT_CUDART
#include <cuda_runtime_api.h>
#endif
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { BLOCKS = 300, BLOCK = 3, STRIDE = 8, INTS = BLOCKS * STRIDE };

static const char* way;
static int rank, size;
static MPI_Datatype vector;

static void fail(const char* what) {
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(CUresult result, const char* call) {
  const char* name = "?";
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &name);
  fprintf(stderr, "%s: %s\n", call, name);
  fail("the driver refuses a call of the program");
}
#define CHECK(call) check(call, #call)

static CUdevice gpu_of(int n) {
  int count = 0;
  CUdevice gpu = 0;
  CHECK(cuDeviceGetCount(&count));
  CHECK(cuDeviceGet(&gpu, n % count));
  return gpu;
}

/* It is current from then on. */
static CUcontext begin(CUdevice gpu) {
  CUcontext context = NULL;
  if (strcmp(way, "created") == 0) {
#if CUDA_VERSION >= 13000
    CHECK(cuCtxCreate(&context, NULL, 0, gpu));
#else
    CHECK(cuCtxCreate(&context, 0, gpu));
#endif
    return context;
  }
#ifndef WITHOUT_CUDART
  if (strcmp(way, "reset") == 0) {
    if (cudaSetDevice(gpu) != cudaSuccess || cudaFree(NULL) != cudaSuccess) fail("no runtime");
    CHECK(cuCtxGetCurrent(&context));
    return context;
  }
#endif
  CHECK(cuDevicePrimaryCtxRetain(&context, gpu));
  CHECK(cuCtxSetCurrent(context));
  return context;
}

static void end(CUcontext context, CUdevice gpu) {
  if (strcmp(way, "created") == 0) {
    CHECK(cuCtxDestroy(context));
    return;
  }
#ifndef WITHOUT_CUDART
  if (strcmp(way, "reset") == 0) {
    if (cudaSetDevice(gpu) != cudaSuccess || cudaDeviceReset() != cudaSuccess) fail("no reset");
    return;
  }
#endif
  CHECK(cuCtxSetCurrent(NULL));
  if (strcmp(way, "reset") == 0) CHECK(cuDevicePrimaryCtxReset(gpu));
  CHECK(cuDevicePrimaryCtxRelease(gpu));
  unsigned flags = 0;
  int is_active = 0;
  CHECK(cuDevicePrimaryCtxGetState(gpu, &flags, &is_active));
  if (is_active) fail("the last release has not ended the context: somebody else holds it");
}

static int* filled(int seed) {
  int host[INTS];
  CUdeviceptr address = 0;
  for (int i = 0; i < INTS; ++i) host[i] = seed * INTS + i;
  CHECK(cuMemAlloc(&address, sizeof host));
  CHECK(cuMemcpyHtoD(address, host, sizeof host));
  return (int*)address;
}

static void check_received(int* buffer, int seed, int sent_seed) {
  int host[INTS];
  CHECK(cuMemcpyDtoH(host, (CUdeviceptr)buffer, sizeof host));
  for (int i = 0; i < INTS; ++i) {
    const int wanted = (i % STRIDE < BLOCK ? sent_seed : seed) * INTS + i;
    if (host[i] != wanted) fail("wrong bytes");
  }
}

static void free_memory(int* buffer) { CHECK(cuMemFree((CUdeviceptr)buffer)); }

static int right(void) { return (rank + 1) % size; }
static int left(void) { return (rank + size - 1) % size; }

/* `frees`: the program frees all its buffers; else the context takes some of them with it. */
static void communicate(int round, int frees) {
  int* const out = filled(100 * round + rank);
  int* in = filled(-1);
  MPI_Request requests[2];
  for (int i = 0; i < 3; ++i) { /* the same calls again */
    MPI_Irecv(in, 1, vector, left(), 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 1, vector, right(), 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  check_received(in, -1, 100 * round + left());
  free_memory(in);
  in = filled(-2);
  MPI_Sendrecv(out, 1, vector, right(), 2, in, 1, vector, left(), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check_received(in, -2, 100 * round + left());
  free_memory(in);
  int* const everything = filled(rank == 0 ? 100 * round : -3);
  MPI_Bcast(everything, 1, vector, 0, MPI_COMM_WORLD);
  check_received(everything, rank == 0 ? 100 * round : -3, 100 * round);
  char packed[sizeof(int) * BLOCKS * BLOCK];
  int position = 0;
  MPI_Pack(out, 1, vector, packed, sizeof packed, &position, MPI_COMM_WORLD);
  if (memcmp(packed, &(int){(100 * round + rank) * INTS}, sizeof(int)) != 0) fail("wrong packed bytes");
  MPI_Barrier(MPI_COMM_WORLD);
  if (!frees) return;
  free_memory(out);
  free_memory(everything);
}
