/* A tool between the shim and the library: notes how many bytes each access of a process alone is for. One of
 * them may fail as on a full disk, or move only a half. */
#include <mpi.h>

enum { MOST = 65536 };
long long accessed_bytes[MOST];
int n_accesses, fails_at = -1, is_half_at = -1;

static long long note(long long count, MPI_Datatype type) {
  MPI_Count size = 0;
  PMPI_Type_size_x(type, &size);
  if (n_accesses < MOST) accessed_bytes[n_accesses++] = count * size;
  return count * size;
}

static int fail(MPI_File file) {
  PMPI_File_call_errhandler(file, MPI_ERR_NO_SPACE);
  return MPI_ERR_NO_SPACE;
}

/* S: what follows the name; N: the type of a count. A half is in 16 bytes. */
#define NOTED(name, S, N, Buffer, Result, parameters, arguments)                                                     \
  int MPI_File_##name##S(MPI_File file, parameters Buffer buffer, N count, MPI_Datatype type, Result* result) {      \
    const int n = n_accesses;                                                                                        \
    const long long bytes = note(count, type);                                                                       \
    if (n == fails_at) return fail(file);                                                                            \
    if (n == is_half_at) return PMPI_File_##name##S(file, arguments buffer, (N)(bytes / 32 * 16), MPI_BYTE, result); \
    return PMPI_File_##name##S(file, arguments buffer, count, type, result);                                         \
  }
#define NONE
#define OFFSET MPI_Offset offset,
#define PASSED_OFFSET offset,

#define BOTH_FILES(kind, Result, S, N)                             \
  NOTED(kind##read, S, N, void*, Result, NONE, NONE)               \
  NOTED(kind##write, S, N, const void*, Result, NONE, NONE)        \
  NOTED(kind##read_at, S, N, void*, Result, OFFSET, PASSED_OFFSET) \
  NOTED(kind##write_at, S, N, const void*, Result, OFFSET, PASSED_OFFSET)
#define EVERY_FUNCTION(S, N)     \
  BOTH_FILES(, MPI_Status, S, N) \
  BOTH_FILES(i, MPI_Request, S, N)

EVERY_FUNCTION(, int)
#if MPI_VERSION >= 4
EVERY_FUNCTION(_c, MPI_Count)
#endif
