/* Two ranks. Behind exchanges of a stream, which the thread of TEMPI carries out late, the program calls a function of
 * CUDA that waits. The first argument names the function. */
#include <stdlib.h>
#include <string.h>
#include <tempi.h>
#include <unistd.h>

#include "gpu_program.h"

enum { kCells = 1 << 18, kBytes = kCells * sizeof(double), kRounds = 20 };

int main(int argc, char** argv) {
  const char* const how = argv[1];
  const int rank = begin(&argc, &argv);
  cudaStream_t stream = own_stream();
  double *const out = allocated(cudaMalloc, kBytes), *const in = allocated(cudaMalloc, kBytes),
                *const pinned = allocated(cudaMallocHost, kBytes), *const pageable = malloc(kBytes);
  MPI_Datatype type; /* every other cell */
  MPI_Type_vector(kCells / 2, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Request requests[2];
  MPI_Recv_init(in, 1, type, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out, 1, type, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
  for (int round = 0; round < kRounds; ++round) {
    cudaMemsetAsync(in, 0, kBytes, stream);
    cudaMemsetAsync(out, 1 + round + rank, kBytes, stream);
    if (rank == round % 2 && round > 0) usleep(20000); /* the kernel of the other rank waits */
    must(TEMPI_Startall_enqueue(2, requests, stream) == MPI_SUCCESS, "not started");
    must(TEMPI_Waitall_enqueue(2, requests, stream) == MPI_SUCCESS, "not queued");
    double* found = pageable;
    if (strcmp(how, "pageable") == 0) {
      cudaMemcpyAsync(pageable, in, kBytes, cudaMemcpyDeviceToHost, stream);
    } else {
      cudaMemcpyAsync(found = pinned, in, kBytes, cudaMemcpyDeviceToHost, stream);
      if (strcmp(how, "device") == 0) cudaDeviceSynchronize();
      if (strcmp(how, "upload") == 0) cudaMemcpyAsync(out, pageable, kBytes, cudaMemcpyHostToDevice, stream);
    }
    must(cudaStreamSynchronize(stream) == cudaSuccess, "a kernel has failed");
    for (size_t i = 0; i < kBytes; ++i) {
      const unsigned char expected = (unsigned char)(i / sizeof *found % 2 ? 0 : 1 + round + 1 - rank);
      must(((unsigned char*)found)[i] == expected, "wrong byte");
    }
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Type_free(&type);
  if (rank == 0) printf("right\n");
  return MPI_Finalize();
}
