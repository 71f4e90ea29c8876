/* Two ranks, each on its own GPU: messages and reductions of MPICH's stream extensions behind work of a stream. */
#include <stdlib.h>
#include <tempi_mpix.h>

#include "gpu_program.h"

enum { kCells = 1 << 18, kRounds = 50 };

static MPI_Comm make_comm(cudaStream_t stream) {
  MPI_Info info;
  MPIX_Stream mpix_stream;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", "cudaStream_t");
  MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
  must(MPIX_Stream_create(info, &mpix_stream) == MPI_SUCCESS, "no stream");
  must(MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix_stream, &comm) == MPI_SUCCESS, "no communicator");
  MPIX_Stream_free(&mpix_stream);
  MPI_Info_free(&info);
  return comm;
}

static double* device_memory(void) { return allocated(cudaMalloc, kCells * sizeof(double)); }

static void exchange(int way, int rank, double* out, double* in, MPI_Datatype type, MPI_Comm comm) {
  const int peer = 1 - rank;
  MPI_Request requests[2];
  MPI_Status status;
  if (way == 0) {
    MPIX_Irecv_enqueue(in, 1, type, peer, 0, comm, &requests[0]);
    MPIX_Isend_enqueue(out, 1, type, peer, 0, comm, &requests[1]);
    MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE);
  } else if (rank == 0) {
    MPIX_Send_enqueue(out, 1, type, peer, 0, comm);
    MPIX_Recv_enqueue(in, 1, type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
  } else {
    MPIX_Recv_enqueue(in, 1, type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    MPIX_Send_enqueue(out, 1, type, peer, 0, comm);
  }
}

int main(int argc, char** argv) {
  double* host = malloc(kCells * sizeof *host);
  const int rank = begin(&argc, &argv);
  cudaStream_t stream = own_stream();
  MPI_Comm comm = make_comm(stream);
  MPI_Datatype type; /* every other cell */
  MPI_Type_vector(kCells / 2, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  double* out[2] = {device_memory(), device_memory()};
  double* in = device_memory();
  double* sum = device_memory();
  for (int round = 0; round < kRounds; ++round) {
    double* const sent = out[rank == 0 ? round % 2 : 0]; /* one rank has two buffers */
    cudaMemsetAsync(in, 0, kCells * sizeof *in, stream);
    cudaMemsetAsync(sent, round + rank + 1, kCells * sizeof *sent, stream);
    exchange(round % 2, rank, sent, in, type, comm);
    cudaMemsetAsync(sent, 0xEE, kCells * sizeof *sent, stream); /* behind the exchange */
    cudaMemcpyAsync(host, in, kCells * sizeof *in, cudaMemcpyDeviceToHost, stream);
    must(cudaStreamSynchronize(stream) == cudaSuccess, "a kernel has failed");
    for (size_t i = 0; i < kCells * sizeof *in; ++i) {
      const unsigned char expected = (unsigned char)(i / sizeof *in % 2 ? 0 : round + (1 - rank) + 1);
      must(((unsigned char*)host)[i] == expected, "wrong byte");
    }
    for (int i = 0; i < kCells; ++i) host[i] = rank + round + i;
    cudaMemcpyAsync(in, host, kCells * sizeof *in, cudaMemcpyHostToDevice, stream);
    MPIX_Allreduce_enqueue(in, sum, kCells, MPI_DOUBLE, MPI_SUM, comm);
    cudaMemcpyAsync(host, sum, kCells * sizeof *sum, cudaMemcpyDeviceToHost, stream);
    must(cudaStreamSynchronize(stream) == cudaSuccess, "a kernel has failed");
    for (int i = 0; i < kCells; ++i) must(host[i] == 1 + 2 * round + 2 * i, "wrong sum");
  }
  MPI_Comm_free(&comm);
  MPI_Type_free(&type);
  if (rank == 0) printf("right\n");
  return MPI_Finalize();
}
