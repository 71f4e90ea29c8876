/* Programs of two ranks as a user of MPICH's stream extensions writes them; kernels are copies and fills. */
#include "mpix_support.h"

enum { kBytes = 4096, kRounds = 6 };

static void* stream;
static MPI_Comm comm;

static void check(const void* device, int first, size_t bytes, const char* what) {
  unsigned char* const got = malloc(bytes);
  must(api->fake_copy(got, device, bytes) == 0, "no copy back");
  for (size_t i = 0; i < bytes; ++i) must(got[i] == (unsigned char)first, what);
  free(got);
}

/* MPICH's test/mpi/impls/mpich/cuda/stream.cu. */
static void saxpy(void) {
  char* const d_x = device_memory(kBytes);
  char* const used = device_memory(kBytes);
  static char x[kBytes];
  MPI_Request request;
  memset(x, 42, kBytes);
  if (rank == 0) {
    copy(d_x, x, kBytes, stream);
    ok(MPIX_Send_enqueue(d_x, kBytes, MPI_BYTE, 1, 0, comm));
    ok(MPIX_Isend_enqueue(x, kBytes, MPI_BYTE, 1, 0, comm, &request)); /* of host memory */
    ok(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    must(request == MPI_REQUEST_NULL, "the request remains");
  } else if (rank == 1) {
    ok(MPIX_Recv_enqueue(d_x, kBytes, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
    copy(used, d_x, kBytes, stream);
    synchronize(stream);
    check(used, 42, kBytes, "wrong bytes");
    fill(d_x, 0, kBytes, stream);
    ok(MPIX_Irecv_enqueue(d_x, kBytes, MPI_BYTE, 0, 0, comm, &request));
    ok(MPIX_Waitall_enqueue(1, &request, MPI_STATUSES_IGNORE));
    must(request == MPI_REQUEST_NULL, "the request remains");
    copy(used, d_x, kBytes, stream);
    synchronize(stream);
    check(used, 42, kBytes, "wrong bytes of host memory");
  }
}

/* Each rank sends in one order and waits in another. */
static void both_ways(void) {
  const int peer = 1 - rank;
  char* used[kRounds];
  char* const out = device_memory(kBytes);
  char* const in = device_memory(kBytes);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    used[round] = device_memory(kBytes);
    fill(out, 10 * rank + round, kBytes, stream);
    fill(in, 0xEE, kBytes, stream);
    ok(MPIX_Isend_enqueue(out, kBytes, MPI_BYTE, peer, 3, comm, &requests[0]));
    ok(MPIX_Irecv_enqueue(in, kBytes, MPI_BYTE, peer, 3, comm, &requests[1]));
    if (round % 3 == 0) {
      ok(MPIX_Waitall_enqueue(2, requests, statuses));
    } else {
      const int first = round % 3 == 1 ? 1 : 0;
      ok(MPIX_Wait_enqueue(&requests[first], &statuses[first]));
      ok(MPIX_Wait_enqueue(&requests[1 - first], &statuses[1 - first]));
    }
    must(statuses[1].MPI_SOURCE == peer && statuses[1].MPI_TAG == 3, "wrong status");
    copy(used[round], in, kBytes, stream);
  }
  synchronize(stream);
  for (int round = 0; round < kRounds; ++round) check(used[round], 10 * peer + round, kBytes, "wrong round");
}

/* The sender has two buffers, the receiver has one or three: requests are not made for each other. */
static void other_patterns(void) {
  enum { kMessages = 30 };
  char* buffers[3];
  char* used[kMessages];
  for (int i = 0; i < 3; ++i) buffers[i] = device_memory(kBytes);
  for (int i = 0; i < kMessages; ++i) {
    char* const buffer = buffers[rank == 0 ? i % 2 : (i < kMessages / 2 ? 0 : i % 3)];
    used[i] = device_memory(kBytes);
    if (rank == 0) {
      fill(buffer, i, kBytes, stream);
      ok(MPIX_Send_enqueue(buffer, kBytes, MPI_BYTE, 1, 5, comm));
      fill(buffer, 0xEE, kBytes, stream);
    } else {
      fill(buffer, 0xDD, kBytes, stream);
      ok(MPIX_Recv_enqueue(buffer, kBytes, MPI_BYTE, 0, 5, comm, MPI_STATUS_IGNORE));
      copy(used[i], buffer, kBytes, stream);
    }
  }
  synchronize(stream);
  for (int i = 0; rank == 1 && i < kMessages; ++i) check(used[i], i, kBytes, "wrong message");
}

static void exchange_one(char* buffer, int value) {
  fill(buffer, rank == 0 ? value : 0xEE, 64, stream);
  if (rank == 0) ok(MPIX_Send_enqueue(buffer, 64, MPI_BYTE, 1, 5, comm));
  else ok(MPIX_Recv_enqueue(buffer, 64, MPI_BYTE, 0, 5, comm, MPI_STATUS_IGNORE));
  synchronize(stream);
  if (rank == 1) check(buffer, value, 64, "wrong message");
}

/* First 40, in a cycle. Then more argument sets than are kept. Then buffers at the addresses of freed ones. */
static void many_buffers(void) {
  enum { kBuffers = 270, kCycle = 40 };
  char* buffers[kBuffers];
  for (int i = 0; i < kBuffers; ++i) buffers[i] = device_memory(64);
  for (int i = 0; i < 2 * kCycle; ++i) exchange_one(buffers[i % kCycle], i);
  for (int i = 0; i < kBuffers; ++i) exchange_one(buffers[i], i);
  for (int i = 0; i < kBuffers; i += 9) {
    api->fake_deallocate(buffers[i]);
    buffers[i] = device_memory(64); /* has its address */
    exchange_one(buffers[i], i);
  }
}

static void freed_while_other_comm_has_it(void) {
  MPI_Comm other = make_comm(stream), first = comm;
  char* buffer = device_memory(64);
  for (int i = 0; i < 6; ++i) {
    comm = i % 2 ? other : first;
    exchange_one(buffer, i);
    api->fake_deallocate(buffer);
    buffer = device_memory(64);
  }
  comm = first;
  ok(MPI_Comm_free(&other));
}

/* The datatype has the address. */
static void from_bottom(void) {
  for (int i = 0; i < 4; ++i) {
    char* const buffer = device_memory(64);
    MPI_Aint address;
    MPI_Datatype type;
    ok(MPI_Get_address(buffer, &address));
    ok(MPI_Type_create_hindexed_block(1, 64, &address, MPI_BYTE, &type));
    ok(MPI_Type_commit(&type));
    fill(buffer, rank == 0 ? i : 0xEE, 64, stream);
    if (rank == 0) ok(MPIX_Send_enqueue(MPI_BOTTOM, 1, type, 1, 5, comm));
    else ok(MPIX_Recv_enqueue(MPI_BOTTOM, 1, type, 0, 5, comm, MPI_STATUS_IGNORE));
    synchronize(stream);
    if (rank == 1) check(buffer, i, 64, "wrong message");
    ok(MPI_Type_free(&type));
    api->fake_deallocate(buffer); /* the next one has its address */
  }
}

static void same_arguments_twice(void) {
  char* const buffer = device_memory(kBytes);
  char* const in[2] = {device_memory(kBytes), device_memory(kBytes)};
  for (int round = 0; round < 3; ++round) {
    MPI_Request requests[2];
    fill(buffer, 7 + round, kBytes, stream);
    for (int i = 0; i < 2; ++i) {
      if (rank == 0) ok(MPIX_Isend_enqueue(buffer, kBytes, MPI_BYTE, 1, 1, comm, &requests[i]));
      else ok(MPIX_Irecv_enqueue(in[i], kBytes, MPI_BYTE, 0, 1, comm, &requests[i]));
    }
    ok(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
    synchronize(stream);
    for (int i = 0; rank == 1 && i < 2; ++i) check(in[i], 7 + round, kBytes, "wrong bytes");
  }
}

static void wildcards(void) {
  char* const buffer = device_memory(kBytes);
  for (int i = 0; i < 8; ++i) {
    if (rank == 0) {
      fill(buffer, 20 + i, kBytes, stream);
      ok(MPIX_Send_enqueue(buffer, 100 + i, MPI_BYTE, 1, i, comm));
      continue;
    }
    MPI_Status status;
    int count = 0;
    fill(buffer, 0, kBytes, stream);
    ok(MPIX_Recv_enqueue(buffer, kBytes, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : 0, i % 3 ? MPI_ANY_TAG : i, comm, &status));
    ok(MPI_Get_count(&status, MPI_BYTE, &count)); /* known before the bytes arrive */
    must(status.MPI_SOURCE == 0 && status.MPI_TAG == i && count == 100 + i, "wrong status");
    synchronize(stream);
    check(buffer, 20 + i, 100 + i, "wrong bytes");
    check(buffer + 100 + i, 0, kBytes - 100 - i, "too many bytes");
  }
}

/* The datatype is freed before the wait, and its handle is that of another one. */
static void freed_types(void) {
  char* const buffer = device_memory(kBytes);
  for (int i = 1; i < 12; ++i) {
    MPI_Datatype type;
    MPI_Request request;
    ok(MPI_Type_vector(4, i, 2 * i, MPI_BYTE, &type));
    ok(MPI_Type_commit(&type));
    fill(buffer, rank == 0 ? i : 0xEE, kBytes, stream);
    if (rank == 0) ok(MPIX_Isend_enqueue(buffer, 1, type, 1, 0, comm, &request));
    else ok(MPIX_Irecv_enqueue(buffer, 1, type, 0, 0, comm, &request));
    ok(MPI_Type_free(&type));
    ok(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    synchronize(stream);
    for (int block = 0; rank == 1 && block < 4; ++block) {
      check(buffer + 2 * i * block, i, i, "wrong block");
      check(buffer + 2 * i * block + i, 0xEE, i, "wrong gap");
    }
  }
}

static void plain_calls(void) {
  char value = (char)(rank == 0 ? 9 : 0), *const buffer = device_memory(kBytes);
  fill(buffer, rank == 0 ? 5 : 0, kBytes, stream);
  if (rank == 0) {
    ok(MPI_Send(&value, 1, MPI_BYTE, 1, 0, comm));
    ok(MPIX_Send_enqueue(buffer, kBytes, MPI_BYTE, 1, 0, comm));
  } else {
    ok(MPIX_Recv_enqueue(buffer, kBytes, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
    ok(MPI_Recv(&value, 1, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
  }
  must(value == 9, "wrong value");
  synchronize(stream);
  check(buffer, 5, kBytes, "wrong bytes");
}

static void captured(void) {
  char* const buffer = device_memory(kBytes);
  char* used[kRounds];
  void* graph = NULL;
  for (int i = -1; i < kRounds; ++i) {
    fill(buffer, rank == 0 ? 30 + i : 0xEE, kBytes, stream);
    if (i == 0) {
      synchronize(stream);
      must(api->fake_stream_begin_capture(stream) == 0, "no capture");
    }
    if (i <= 0) {
      if (rank == 0) ok(MPIX_Send_enqueue(buffer, kBytes, MPI_BYTE, 1, 0, comm));
      else ok(MPIX_Recv_enqueue(buffer, kBytes, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
    }
    if (i == 0) graph = api->fake_stream_end_capture(stream);
    if (i >= 0) must(graph != NULL && api->fake_graph_launch(graph, stream) == 0, "no launch");
    if (i < 0) continue;
    used[i] = device_memory(kBytes);
    copy(used[i], buffer, kBytes, stream);
  }
  synchronize(stream);
  for (int i = 0; rank == 1 && i < kRounds; ++i) check(used[i], 30 + i, kBytes, "wrong launch");
  api->fake_graph_destroy(graph);
}

/* The communicator is freed while the exchange is queued. */
static void freed_comm(void) {
  char* const buffer = device_memory(kBytes);
  for (int i = 0; i < 5; ++i) {
    MPI_Comm own = make_comm(stream);
    fill(buffer, rank == 0 ? i : 0xEE, kBytes, stream);
    if (rank == 0) ok(MPIX_Send_enqueue(buffer, kBytes, MPI_BYTE, 1, 0, own));
    else ok(MPIX_Recv_enqueue(buffer, kBytes, MPI_BYTE, 0, 0, own, MPI_STATUS_IGNORE));
    ok(MPI_Comm_free(&own));
    synchronize(stream);
    if (rank == 1) check(buffer, i, kBytes, "wrong bytes");
  }
}

static void to_itself(void) {
  char* const out = device_memory(kBytes);
  char* const in = device_memory(kBytes);
  for (int i = 0; i < 4; ++i) {
    MPI_Request requests[2];
    fill(out, 50 + i, kBytes, stream);
    ok(MPIX_Irecv_enqueue(in, kBytes, MPI_BYTE, rank, 0, comm, &requests[0]));
    ok(MPIX_Isend_enqueue(out, kBytes, MPI_BYTE, rank, 0, comm, &requests[1]));
    ok(MPIX_Wait_enqueue(&requests[i % 2], MPI_STATUS_IGNORE));
    ok(MPIX_Wait_enqueue(&requests[1 - i % 2], MPI_STATUS_IGNORE));
    synchronize(stream);
    check(in, 50 + i, kBytes, "wrong bytes");
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } kCases[] = {{"saxpy", saxpy},
                {"both ways", both_ways},
                {"other patterns", other_patterns},
                {"many buffers", many_buffers},
                {"freed while another communicator has it", freed_while_other_comm_has_it},
                {"from MPI_BOTTOM", from_bottom},
                {"same arguments twice", same_arguments_twice},
                {"wildcards", wildcards},
                {"freed types", freed_types},
                {"plain calls", plain_calls},
                {"captured", captured},
                {"freed communicator", freed_comm},
                {"to itself", to_itself}};
  begin(&argc, &argv);
  stream = api->fake_stream_create(0);
  comm = make_comm(stream);
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    if (strcmp(argv[1], kCases[i].name) == 0) kCases[i].run();
  }
  synchronize(stream);
  ok(MPI_Comm_free(&comm));
  api->fake_stream_destroy(stream);
  if (rank == 0) printf("right\n");
  return MPI_Finalize();
}
