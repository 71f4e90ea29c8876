// Two sessions at once, then another one: each time that MPI is up, a datatype is committed.
#include <mpi.h>
#include <stdio.h>

static void commit(void) {
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Type_free(&column);
}

int main(void) {
  MPI_Session first, second;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first) != MPI_SUCCESS) return 1;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second);
  commit();
  MPI_Session_finalize(&first);
  commit();
  MPI_Session_finalize(&second);
  puts("ok");
  return 0;
}
