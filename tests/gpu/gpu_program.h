/* For C programs of two ranks, each on its own GPU. */
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <stdio.h>

static void must(int is_met, const char* what) {
  if (is_met) return;
  fprintf(stderr, "%s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* allocated(cudaError_t (*allocate)(void**, size_t), size_t bytes) {
  void* made = NULL;
  must(allocate(&made, bytes) == cudaSuccess, "no memory");
  return made;
}

/* Initialises MPI, and chooses the GPU of the rank. Returns the rank. */
static int begin(int* argc, char*** argv) {
  int rank = 0, n_gpus = 1;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cudaGetDeviceCount(&n_gpus);
  cudaSetDevice(rank % n_gpus);
  return rank;
}

static cudaStream_t own_stream(void) {
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "no stream");
  return stream;
}
