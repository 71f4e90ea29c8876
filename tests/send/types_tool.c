/* A tool between the shim and the MPI library: prints the calls that hand the library a derived datatype. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static void look(const char* call, MPI_Datatype type) {
  int integers, addresses, types, combiner;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) printf("%s derived\n", call);
}

#define PASS_ON(name, parameters, arguments)                      \
  int name parameters {                                           \
    static int(*next) parameters;                                 \
    if (!next) next = (int(*) parameters)dlsym(RTLD_NEXT, #name); \
    look(#name, type);                                            \
    return next arguments;                                        \
  }
#define SEND(name) \
  PASS_ON(name, (const void* b, int n, MPI_Datatype type, int r, int t, MPI_Comm c), (b, n, type, r, t, c))
#define ISEND(name)                                                                                        \
  PASS_ON(name, (const void* b, int n, MPI_Datatype type, int r, int t, MPI_Comm c, MPI_Request* request), \
          (b, n, type, r, t, c, request))
#define IRECV(name)                                                                                  \
  PASS_ON(name, (void* b, int n, MPI_Datatype type, int r, int t, MPI_Comm c, MPI_Request* request), \
          (b, n, type, r, t, c, request))
#define SENDRECV(name)                                                                                          \
  PASS_ON(name,                                                                                                 \
          (const void* b, int n, MPI_Datatype type, int r, int t, void* b2, int n2, MPI_Datatype type2, int r2, \
           int t2, MPI_Comm c, MPI_Status* status),                                                             \
          (b, n, type, r, t, b2, n2, type2, r2, t2, c, status))
#define REPLACE(name)                                                                                              \
  PASS_ON(name, (void* b, int n, MPI_Datatype type, int r, int t, int r2, int t2, MPI_Comm c, MPI_Status* status), \
          (b, n, type, r, t, r2, t2, c, status))

SEND(MPI_Send)
ISEND(MPI_Isend)
ISEND(MPI_Send_init)
ISEND(PMPI_Send_init)
IRECV(MPI_Irecv)
IRECV(MPI_Recv_init)
SENDRECV(MPI_Sendrecv)
REPLACE(MPI_Sendrecv_replace)
