/* One rank that sends ten messages of 1 MiB to itself, again and again, and then another ten. Between them it makes a
   persistent request of so many MiB. large_sends TIMES TIMES MIB */
#include "strict.h"

enum { N = 1 << 18, LAST = 2 * (N - 1) };

static void exchange(int* out, int* in, MPI_Datatype type, int tag, int value) {
  MPI_Request requests[2];
  copy(out + LAST, &value, sizeof value);
  MPI_Irecv(in, 1, type, 0, tag, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, 1, type, 0, tag, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  int found = 0;
  copy(&found, in + LAST, sizeof found);
  CHECK(found == value, "tag %d: %d, not %d", tag, found, value);
}

static void make_persistent(int* out, MPI_Datatype type, int mib) {
  MPI_Request request;
  MPI_Send_init(out, mib, type, 0, 0, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int mib = atoi(argv[3]);
  kind = "device";
  MPI_Init(&argc, &argv);
  MPI_Datatype type;
  MPI_Type_vector(N, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  int *out = allocated((size_t)(mib + 1) * 2 * N * sizeof(int)), *in = allocated(2 * N * sizeof(int));
  for (int ten = 0; ten < 2; ++ten) {
    if (ten == 1 && mib > 0) make_persistent(out, type, mib);
    for (int time = 0; time < atoi(argv[1 + ten]); ++time)
      for (int k = 0; k < 10; ++k) exchange(out, in, type, 10 * ten + k, 100 * time + 10 * ten + k);
  }
  MPI_Type_free(&type);
  puts("ok");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
