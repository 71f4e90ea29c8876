/* A tool between the shim and the MPI library: what MPI_Type_create_hindexed_block makes cannot be looked into. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

#define ENVELOPE(name)                                                                            \
  int name(MPI_Datatype type, int* integers, int* addresses, int* types, int* combiner) {         \
    static int (*next)(MPI_Datatype, int*, int*, int*, int*);                                     \
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, #name);                                          \
    const int code = next(type, integers, addresses, types, combiner);                            \
    return code == MPI_SUCCESS && *combiner == MPI_COMBINER_HINDEXED_BLOCK ? MPI_ERR_TYPE : code; \
  }

ENVELOPE(MPI_Type_get_envelope)
ENVELOPE(PMPI_Type_get_envelope)
