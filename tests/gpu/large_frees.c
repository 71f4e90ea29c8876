/* Two ranks. Rank 1 receives into a large buffer, frees it, and at once allocates more than is free while rank 0 has the
 * buffer mapped. Rank 0 makes no MPI call in between. With the argument "kept", there must be no memory. */
#include <string.h>
#include <unistd.h>

#include "gpu_program.h"

/* Messages: the first one may be packed, if its sender maps the buffer for longer than it waits for a direct message. */
enum { kCells = 1 << 18, kRounds = 2, kMessages = 3 };

int main(int argc, char** argv) {
  const int rank = begin(&argc, &argv);
  size_t free_bytes = 0, all_bytes = 0;
  must(cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess, "no GPU");
  const size_t large = all_bytes / 10 * 4, larger = all_bytes / 10 * 7;
  MPI_Datatype type; /* every other cell */
  MPI_Type_vector(kCells / 2, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  const int is_kept = argc > 1 && strcmp(argv[1], "kept") == 0; /* one round: the next buffer may lie there, too */
  for (int round = 0; round < (is_kept ? 1 : kRounds); ++round) {
    char* const buffer = allocated(cudaMalloc, rank == 1 ? large : kCells * sizeof(double));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      for (int i = 0; i < kMessages; ++i) MPI_Ssend(buffer, 1, type, 1, 0, MPI_COMM_WORLD);
      usleep(1000000);
    } else {
      for (int i = 0; i < kMessages; ++i) MPI_Recv(buffer, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      must(cudaFree(buffer) == cudaSuccess, "not freed");
      void* again = NULL;
      const int has_failed = cudaMalloc(&again, larger) != cudaSuccess;
      must(has_failed == is_kept, is_kept ? "not mapped any more" : "still mapped");
      cudaFree(again);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) cudaFree(buffer);
  }
  MPI_Type_free(&type);
  if (rank == 1) puts("right");
  MPI_Finalize();
  return 0;
}
