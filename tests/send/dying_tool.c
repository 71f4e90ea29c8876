/* A tool between the shim and the library, by which a process kills itself: DIE_AT=before NAME, after NAME (of the first
 * call), or "FIN" for the first empty MPI_Isend. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void die_at(const char* when, const char* name) {
  const char* const wish = getenv("DIE_AT");
  const size_t length = strlen(when);
  if (wish && strncmp(wish, when, length) == 0 && strcmp(wish + length, name) == 0) raise(SIGKILL);
}

int MPI_Init_thread(int* argc, char*** argv, int wanted, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, wanted, provided);
  die_at("after ", "Init");
  return code;
}

int MPI_Barrier(MPI_Comm comm) {
  die_at("before ", "Barrier");
  return PMPI_Barrier(comm);
}

int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  die_at("before ", "Irecv");
  const int code = PMPI_Irecv(buffer, count, type, source, tag, comm, request);
  die_at("after ", "Irecv");
  return code;
}

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (count == 0) die_at("before ", "FIN");
  const int code = PMPI_Isend(buffer, count, type, peer, tag, comm, request);
  if (count == 0) die_at("after ", "FIN");
  return code;
}
