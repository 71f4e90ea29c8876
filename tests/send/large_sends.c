/* One rank that sends ten messages of 1 MiB to itself, again and again, and then another ten; with each ten goes a small
   one, on another communicator. Between the tens it asks for more memory: for a persistent request of so many MiB, or for
   a collective call. large_sends TIMES TIMES persistent|collective MIB */
#include "strict.h"

enum { N = 1 << 18, LAST = 2 * (N - 1) };

static void exchange(int* out, int* in, MPI_Datatype type, int tag, int value, MPI_Comm comm) {
  MPI_Request requests[2];
  copy(out + LAST, &value, sizeof value);
  MPI_Irecv(in, 1, type, 0, tag, comm, &requests[0]);
  MPI_Isend(out, 1, type, 0, tag, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  int found = 0;
  copy(&found, in + LAST, sizeof found);
  CHECK(found == value, "tag %d: %d, not %d", tag, found, value);
}

static void make_persistent(int* out, int* in, MPI_Datatype type, int mib) {
  (void)in;
  MPI_Request request;
  MPI_Send_init(out, mib, type, 0, 0, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
}

static void call_collective(int* out, int* in, MPI_Datatype type, int mib) {
  MPI_Request request;
  MPI_Ialltoall(out, mib, type, in, mib, type, MPI_COMM_SELF, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Two ints, of which the second lies where exchange() looks. */
static MPI_Datatype small_type(void) {
  MPI_Datatype type;
  MPI_Type_vector(2, 1, LAST, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int mib = atoi(argv[4]);
  kind = "device";
  MPI_Init(&argc, &argv);
  MPI_Datatype type, small = small_type();
  MPI_Type_vector(N, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  const size_t bytes = (size_t)(mib + 1) * 2 * N * sizeof(int);
  int *out = allocated(bytes), *in = allocated(bytes);
  for (int ten = 0; ten < 2; ++ten) {
    if (ten == 1 && mib > 0) (strcmp(argv[3], "collective") ? make_persistent : call_collective)(out, in, type, mib);
    for (int time = 0; time < atoi(argv[1 + ten]); ++time) {
      exchange(out, in, small, 0, time, MPI_COMM_SELF);
      for (int k = 0; k < 10; ++k) exchange(out, in, type, 10 * ten + k, 100 * time + 10 * ten + k, MPI_COMM_WORLD);
    }
  }
  MPI_Type_free(&small);
  MPI_Type_free(&type);
  puts("ok");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
