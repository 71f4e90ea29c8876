/* Each rank sends a column of a matrix to the next rank. */
#include <mpi.h>
#include <stdio.h>

enum { kRows = 1000, kColumns = 1000 };
static double sent[kRows][kColumns], received[kRows][kColumns];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int row = 0; row < kRows; ++row) sent[row][0] = rank * kRows + row;

  MPI_Datatype column;
  MPI_Type_vector(kRows, 1, kColumns, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  MPI_Sendrecv(sent, 1, column, next, 0, received, 1, column, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&column);

  int wrong = 0;
  for (int row = 0; row < kRows; ++row) wrong += received[row][0] != previous * kRows + row;
  printf("rank %d: %d of %d values are wrong\n", rank, wrong, kRows);
  MPI_Finalize();
  return wrong != 0;
}
