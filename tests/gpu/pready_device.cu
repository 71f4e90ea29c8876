/* Partitions that a kernel makes ready, as a user writes it (include/tempi_device.h). Rank 0 sends 16 partitions of
 * rows with gaps: each block writes one and makes it ready, while MPI_Wait runs. Rank 1 checks every byte. */
#include <cuda_runtime.h>
#include <mpi.h>
#include <stdio.h>
#include <vector>

#include "tempi_device.h"

enum { PARTITIONS = 16, ROWS = 256, ROW = 64, ROUNDS = 30 };  // the elements of a partition, the ints of a row

__global__ void compute(int* to, int round, MPIX_Prequest ready) {
  const int partition = (blockIdx.x * 7 + 3) % PARTITIONS;
  const long long until = clock64() + 20000LL * partition;
  while (clock64() < until) {
  }
  for (int i = threadIdx.x; i < ROWS * ROW; i += blockDim.x) {
    const int row = partition * ROWS + i / ROW;
    to[row * 2 * ROW + i % ROW] = round * 1000000 + row * ROW + i % ROW;
  }
  __syncthreads();
  if (threadIdx.x == 0) MPIX_Pready_device(ready, partition);
}

int main(int argc, char** argv) {
  int level, rank, n_gpus;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cudaGetDeviceCount(&n_gpus);
  cudaSetDevice(rank % n_gpus);
  const int n = PARTITIONS * ROWS;
  int* buffer;
  cudaMalloc(&buffer, sizeof(int) * 2 * ROW * n);
  MPI_Datatype block, row;
  MPI_Type_contiguous(ROW, MPI_INT, &block);
  MPI_Type_create_resized(block, 0, 2 * ROW * sizeof(int), &row);
  MPI_Type_commit(&row);
  MPI_Request request;
  MPIX_Prequest ready = {};
  if (rank == 0) {
    MPI_Psend_init(buffer, PARTITIONS, ROWS, row, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    if (MPIX_Prequest_create(&request, &ready) != MPI_SUCCESS || ready.n != PARTITIONS) MPI_Abort(MPI_COMM_WORLD, 3);
  } else {
    MPI_Precv_init(buffer, PARTITIONS, ROWS, row, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  }
  int n_wrong = 0;
  std::vector<int> seen(static_cast<size_t>(2) * ROW * n);
  for (int round = 0; round < ROUNDS; ++round) {
    cudaMemset(buffer, 0xff, sizeof(int) * seen.size());
    cudaDeviceSynchronize();
    MPI_Start(&request);
    if (rank == 0) compute<<<PARTITIONS, 256>>>(buffer, round, ready);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    cudaMemcpy(seen.data(), buffer, sizeof(int) * seen.size(), cudaMemcpyDeviceToHost);
    for (int i = 0; i < 2 * ROW * n; ++i) {
      const int at = i % (2 * ROW), wanted = at < ROW ? round * 1000000 + i / (2 * ROW) * ROW + at : -1;
      n_wrong += seen[i] != wanted;
    }
  }
  if (rank == 0) MPIX_Prequest_free(&ready);
  MPI_Request_free(&request);
  MPI_Allreduce(MPI_IN_PLACE, &n_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("wrong %d\n", n_wrong);
  MPI_Type_free(&row);
  MPI_Type_free(&block);
  cudaFree(buffer);
  MPI_Finalize();
}
