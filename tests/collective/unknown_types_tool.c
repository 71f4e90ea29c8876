/* A tool between the shim and the MPI library: what MPI_Type_create_hindexed_block makes cannot be looked into. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

#define ENVELOPE(name, parameters, arguments)                                                     \
  int name parameters {                                                                           \
    static int(*next) parameters;                                                                 \
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, #name);                                          \
    const int code = next arguments;                                                              \
    return code == MPI_SUCCESS && *combiner == MPI_COMBINER_HINDEXED_BLOCK ? MPI_ERR_TYPE : code; \
  }
#define SMALL (MPI_Datatype type, int* integers, int* addresses, int* types, int* combiner)
#define LARGE \
  (MPI_Datatype type, MPI_Count * integers, MPI_Count * addresses, MPI_Count * counts, MPI_Count * types, int* combiner)

ENVELOPE(PMPI_Type_get_envelope, SMALL, (type, integers, addresses, types, combiner))
#if MPI_VERSION >= 4
ENVELOPE(PMPI_Type_get_envelope_c, LARGE, (type, integers, addresses, counts, types, combiner))
#endif

/* So that the tool is linked to the library, and the shim finds both: Python loads it for itself alone. */
int is_up(void) {
  int flag = 0;
  PMPI_Initialized(&flag);
  return flag;
}
