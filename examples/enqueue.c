/* A ring of ranks on GPUs whose exchange is part of a CUDA graph: fill a column, send it, receive one, use it. The CPU
 * launches the graph and does nothing else.
 *
 *   mpicc -O2 -I/usr/local/cuda/include -Iinclude -o enqueue examples/enqueue.c -L/usr/local/cuda/lib64 -lcudart
 *   tempi run -- mpirun -n 2 ./enqueue
 *
 * A graph needs a channel between each two ranks: a GPU for each rank, and memory that they can map. The program asks
 * for it by the first exchange, and exchanges without a graph if there is none.
 */
#include <cuda_runtime.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <tempi.h>

enum { kRows = 512, kPitch = 4096, kColumn = 8, kRounds = 1000 }; /* bytes */

static void must(cudaError_t code) {
  if (code == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char* allocate(size_t bytes) {
  void* memory;
  must(cudaMalloc(&memory, bytes));
  must(cudaMemset(memory, 0, bytes));
  return memory;
}

/* One step. The received column is what the rank sends next: after `size` rounds it has its own column again. */
static int step(MPI_Request requests[2], unsigned char* sent, const unsigned char* received, cudaStream_t stream) {
  int code = TEMPI_Startall_enqueue(2, requests, stream);
  if (code == MPI_SUCCESS) code = TEMPI_Waitall_enqueue(2, requests, stream);
  if (code == TEMPI_ERR_NOT_LOADED) { /* the program runs without TEMPI */
    must(cudaStreamSynchronize(stream));
    MPI_Startall(2, requests);
    code = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  must(cudaMemcpy2DAsync(sent, kPitch, received, kPitch, kColumn, kRows, cudaMemcpyDeviceToDevice, stream));
  return code;
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

  MPI_Datatype column;
  MPI_Type_vector(kRows, kColumn, kPitch, MPI_BYTE, &column);
  MPI_Type_commit(&column);
  unsigned char* const sent = allocate(kRows * kPitch);
  unsigned char* const received = allocate(kRows * kPitch);
  must(cudaMemset2D(sent, kPitch, rank, kColumn, kRows));
  MPI_Request requests[2];
  MPI_Recv_init(received, 1, column, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(sent, 1, column, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);

  int rounds = 1, is_in_graph = 0;
  step(requests, sent, received, stream);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  cudaGraph_t graph = NULL;
  cudaGraphExec_t executable;
  if (n_gpus >= size) {
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    is_in_graph = step(requests, sent, received, stream) == MPI_SUCCESS;
    must(cudaStreamEndCapture(stream, &graph));
  }
  if (is_in_graph) must(cudaGraphInstantiate(&executable, graph, 0));
  for (; rounds < kRounds; ++rounds) {
    if (is_in_graph) must(cudaGraphLaunch(executable, stream));
    else step(requests, sent, received, stream);
  }
  must(cudaStreamSynchronize(stream));

  static unsigned char columns[kRows * kColumn];
  must(cudaMemcpy2D(columns, kColumn, received, kPitch, kColumn, kRows, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < kRows * kColumn; ++i) wrong += columns[i] != ((rank - kRounds) % size + size) % size;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d ranks, %d rounds%s, %d wrong bytes\n", size, rounds, is_in_graph ? " in a graph" : "", wrong);

  if (is_in_graph) must(cudaGraphExecDestroy(executable));
  if (graph != NULL) must(cudaGraphDestroy(graph));
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Type_free(&column);
  MPI_Finalize();
  return wrong != 0;
}
