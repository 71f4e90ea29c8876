/* Two threads, each with a communicator, on one stream or on two: argv[1]. A copy that is queued behind a call sees the
 * data of the call. Two ranks. */
#include <pthread.h>

#include "mpix_support.h"

enum { kThreads = 2, kRounds = 40, kBytes = 256 };

typedef struct {
  int number;
  void* stream;
  MPI_Comm comm;
  char *buffer, *used[kRounds];
} Thread;

static int value_of(const Thread* its, int round) { return 1 + its->number * 100 + round; }

static void* run(void* given) {
  Thread* const its = given;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request request;
    fill(its->buffer, rank == 0 ? value_of(its, round) : 0xEE, kBytes, its->stream);
    if (round % 3 == 2) {
      if (rank == 0) ok(MPIX_Isend_enqueue(its->buffer, kBytes, MPI_BYTE, 1, 0, its->comm, &request));
      else ok(MPIX_Irecv_enqueue(its->buffer, kBytes, MPI_BYTE, 0, 0, its->comm, &request));
      ok(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    } else if (rank == 0) {
      ok(MPIX_Send_enqueue(its->buffer, kBytes, MPI_BYTE, 1, 0, its->comm));
    } else {
      ok(MPIX_Recv_enqueue(its->buffer, kBytes, MPI_BYTE, 0, 0, its->comm, MPI_STATUS_IGNORE));
    }
    copy(its->used[round], its->buffer, kBytes, its->stream);
  }
  return NULL;
}

int main(int argc, char** argv) {
  Thread all[kThreads];
  pthread_t threads[kThreads];
  begin(&argc, &argv);
  for (int i = 0; i < kThreads; ++i) {
    all[i].number = i;
    all[i].stream = i > 0 && atoi(argv[1]) == 1 ? all[0].stream : api->fake_stream_create(0);
    all[i].comm = make_comm(all[i].stream);
    all[i].buffer = device_memory(kBytes);
    for (int round = 0; round < kRounds; ++round) all[i].used[round] = device_memory(kBytes);
  }
  for (int i = 0; i < kThreads; ++i) must(pthread_create(&threads[i], NULL, run, &all[i]) == 0, "no thread");
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) {
    synchronize(all[i].stream);
    for (int round = 0; rank == 1 && round < kRounds; ++round) {
      unsigned char got[kBytes];
      must(api->fake_copy(got, all[i].used[round], kBytes) == 0, "no copy back");
      for (int byte = 0; byte < kBytes; ++byte)
        must(got[byte] == (unsigned char)value_of(&all[i], round), "the copy has not seen the data");
    }
    ok(MPI_Comm_free(&all[i].comm));
  }
  if (rank == 0) printf("right\n");
  return MPI_Finalize();
}
