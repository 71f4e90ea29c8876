/* A library below the shim in which each MPI_Recv_init takes 1 ms: the receives of its rank are late. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

static const double late_seconds = 1e-3;

typedef int RecvInit(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static void be_late(void) {
  const double end = MPI_Wtime() + late_seconds;
  while (MPI_Wtime() < end) continue;
}

int PMPI_Recv_init(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* made) {
  be_late();
  return ((RecvInit*)dlsym(RTLD_NEXT, "PMPI_Recv_init"))(data, count, type, source, tag, comm, made);
}

#if MPI_VERSION >= 4
typedef int RecvInitLarge(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

int PMPI_Recv_init_c(void* data, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                     MPI_Request* made) {
  be_late();
  return ((RecvInitLarge*)dlsym(RTLD_NEXT, "PMPI_Recv_init_c"))(data, count, type, source, tag, comm, made);
}
#endif
