/* A ring of ranks on GPUs: fill a column, send it, receive one, use it, all in one CUDA stream. The program waits for
 * the stream once, at the end.
 *
 *   mpicc -O2 -I/usr/local/cuda/include -Iinclude -o stream examples/stream.c -L/usr/local/cuda/lib64 -lcudart
 *   tempi run -- mpirun -n 2 ./stream
 */
#include <cuda_runtime.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tempi.h>

enum { kRows = 512, kPitch = 4096, kColumn = 8, kRounds = 50 }; /* bytes */

static void must(cudaError_t code) {
  if (code == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static char* allocate(size_t bytes) {
  void* memory;
  must(cudaMalloc(&memory, bytes));
  must(cudaMemset(memory, 0, bytes));
  return memory;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, n_gpus;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  must(cudaGetDeviceCount(&n_gpus));
  must(cudaSetDevice(rank % n_gpus));

  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const int is_ordered = TEMPI_Set_stream(stream) == MPI_SUCCESS; /* not without TEMPI: the program waits itself */

  MPI_Datatype column;
  MPI_Type_vector(kRows, kColumn, kPitch, MPI_BYTE, &column);
  MPI_Type_commit(&column);
  char* const sent = allocate(kRows * kPitch);
  char* const received = allocate(kRows * kPitch);
  char* const used = allocate(kRounds * kRows * kColumn); /* the received columns of all rounds */
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;

  for (int round = 0; round < kRounds; ++round) {
    must(cudaMemset2DAsync(sent, kPitch, rank + round, kColumn, kRows, stream));
    if (!is_ordered) must(cudaStreamSynchronize(stream));
    MPI_Sendrecv(sent, 1, column, next, 0, received, 1, column, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    must(cudaMemcpy2DAsync(used + round * kRows * kColumn, kColumn, received, kPitch, kColumn, kRows,
                           cudaMemcpyDeviceToDevice, stream));
  }
  must(cudaStreamSynchronize(stream));

  char* const columns = malloc(kRounds * kRows * kColumn);
  must(cudaMemcpy(columns, used, kRounds * kRows * kColumn, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < kRounds * kRows * kColumn; ++i) wrong += columns[i] != (char)(previous + i / (kRows * kColumn));
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d rounds, %d wrong bytes\n", size, kRounds, wrong);

  TEMPI_Set_stream(TEMPI_STREAM_NONE);
  must(cudaStreamDestroy(stream));
  MPI_Type_free(&column);
  MPI_Finalize();
  return wrong != 0;
}
