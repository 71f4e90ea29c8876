/* Random messages and reductions on one or two streams, the same program on all ranks: all draw the same numbers. Work
 * in the streams fills each buffer before a call, and uses it behind the call. Each byte is checked at the end. */
#include "mpix_support.h"

enum { kMostStreams = 2, kPool = 3, kRows = 12, kMostRow = 40, kBytes = 2 * kRows * kMostRow, kPending = 6 };

typedef struct {
  MPI_Request request;
  MPI_Status status;
  char* buffer; /* received into; null: a send */
  int stream, from, tag, row, is_dense, number;
} Message;

static void* streams[kMostStreams];
static MPI_Comm comms[kMostStreams];
static char* pools[kMostStreams][2][kPool]; /* of sends and of receives; not in device memory: the last one */
static int is_used[kMostStreams][2][kPool];
static char **results, *host[kMostStreams][2];
static Message *received, pending[kPending];
static int n_streams, n_received, n_pending, n_numbers;
static unsigned long long state; /* the same on all ranks */
static unsigned long long own;   /* another on each rank */

static unsigned draw(unsigned long long* from, unsigned below) {
  *from = *from * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(*from >> 33) % below;
}

static unsigned char value_of(int number, int i) { return (unsigned char)(1 + number * 31 + i * 7 + i / 256); }

/* A dense buffer, or rows with gaps of their length. */
static MPI_Datatype type_of(int row, int is_dense) {
  MPI_Datatype type;
  ok(MPI_Type_vector(kRows, row, is_dense ? row : 2 * row, MPI_BYTE, &type));
  ok(MPI_Type_commit(&type));
  return type;
}

static int offset_of(int i, int row, int is_dense) { return is_dense ? i : i / row * 2 * row + i % row; }

static char* take(int stream, int direction) {
  for (;;) {
    const int i = (int)draw(&own, kPool);
    if (is_used[stream][direction][i]) continue;
    return is_used[stream][direction][i] = 1, pools[stream][direction][i];
  }
}

static void give_back(int stream, int direction, const char* buffer) {
  for (int i = 0; i < kPool; ++i) {
    if (pools[stream][direction][i] == buffer) is_used[stream][direction][i] = 0;
  }
}

static void use(Message* one, const char* sent) {
  if (one->buffer == NULL) {
    give_back(one->stream, 0, sent);
    fill((void*)sent, 0xDD, kBytes, streams[one->stream]); /* behind the exchange */
    return;
  }
  int count = 0;
  ok(MPI_Get_count(&one->status, MPI_BYTE, &count));
  must(one->status.MPI_SOURCE == one->from && one->status.MPI_TAG == one->tag && count == kRows * one->row,
       "wrong status");
  results[n_received] = device_memory(kBytes);
  copy(results[n_received], one->buffer, kBytes, streams[one->stream]);
  received[n_received++] = *one;
  give_back(one->stream, 1, one->buffer);
}

static const char* sent_by[kPending];

static void complete(int i) {
  ok(MPIX_Wait_enqueue(&pending[i].request, &pending[i].status));
  use(&pending[i], sent_by[i]);
  pending[i] = pending[--n_pending];
  sent_by[i] = sent_by[n_pending];
}

static void complete_all(void) {
  MPI_Request requests[kPending];
  MPI_Status statuses[kPending];
  for (int stream = 0; stream < n_streams; ++stream) { /* a call is about one stream */
    int n = 0, of[kPending];
    for (int i = 0; i < n_pending; ++i) {
      if (pending[i].stream == stream) requests[n] = pending[i].request, of[n++] = i;
    }
    ok(MPIX_Waitall_enqueue(n, requests, statuses));
    for (int i = 0; i < n; ++i) pending[of[i]].status = statuses[i], use(&pending[of[i]], sent_by[of[i]]);
  }
  n_pending = 0;
}

static void transfer(void) {
  const int from = (int)draw(&state, (unsigned)size), to = (int)draw(&state, (unsigned)size);
  const int stream = (int)draw(&state, (unsigned)n_streams), tag = (int)draw(&state, 2),
            row = 1 + (int)draw(&state, 4) * 13;
  const int number = n_numbers++;
  int n_of[2] = {0, 0}; /* as many as there are buffers are not waited for at once */
  for (int i = 0; i < n_pending; ++i) n_of[pending[i].buffer != NULL] += pending[i].stream == stream;
  if (n_pending > kPending - 2 || n_of[0] >= kPool - 1 || n_of[1] >= kPool - 1) complete_all();
  for (int direction = 0; direction < 2; ++direction) {
    if ((direction == 0 ? from : to) != rank) continue;
    const int blocks = from != to && draw(&own, 2);
    char* const buffer = take(stream, direction);
    Message one = {.buffer = direction ? buffer : NULL,
                   .stream = stream,
                   .from = from,
                   .tag = tag,
                   .row = row,
                   .is_dense = (int)draw(&own, 2),
                   .number = number};
    MPI_Datatype type = type_of(row, one.is_dense);
    fill(buffer, 0xEE, kBytes, streams[stream]);
    if (direction == 0) {
      char* const data = malloc(kBytes); /* read when the stream comes here */
      memset(data, 0xCC, kBytes);
      for (int i = 0; i < kRows * row; ++i) data[offset_of(i, row, one.is_dense)] = (char)value_of(number, i);
      copy(buffer, data, kBytes, streams[stream]);
      if (blocks) ok(MPIX_Send_enqueue(buffer, 1, type, to, tag, comms[stream]));
      else ok(MPIX_Isend_enqueue(buffer, 1, type, to, tag, comms[stream], &one.request));
    } else if (blocks) {
      ok(MPIX_Recv_enqueue(buffer, 1, type, from, tag, comms[stream], &one.status));
    } else {
      ok(MPIX_Irecv_enqueue(buffer, 1, type, from, tag, comms[stream], &one.request));
    }
    ok(MPI_Type_free(&type));
    if (blocks) use(&one, buffer);
    else sent_by[n_pending] = buffer, pending[n_pending++] = one;
  }
}

typedef struct {
  int* result;
  int count, first;
} Sum;
static Sum* sums;
static int n_sums;
static int* inputs[2];
static int* outputs[2];

static void reduce(void) {
  const int stream = (int)draw(&state, (unsigned)n_streams), count = 1 + (int)draw(&state, 2) * 100,
            first = n_numbers++;
  const int in_place = (int)draw(&state, 2), has_kernel = (int)draw(&state, 4) != 0;
  int *const input = inputs[draw(&own, 2)], *const output = outputs[draw(&own, 2)];
  int* const data = malloc(sizeof *data * (size_t)count);
  for (int i = 0; i < count; ++i) data[i] = first * (rank + 1) + i;
  for (int s = 0; s < n_streams; ++s) synchronize(streams[s]); /* all use the buffers */
  copy(in_place ? output : input, data, sizeof *data * (size_t)count, streams[stream]);
  MPI_Datatype type = MPI_INT;
  if (!has_kernel) { /* the CPU waits */
    ok(MPI_Type_contiguous(1, MPI_INT, &type));
    ok(MPI_Type_commit(&type));
  }
  if (has_kernel)
    ok(MPIX_Allreduce_enqueue(in_place ? MPI_IN_PLACE : input, output, count, MPI_INT, MPI_SUM, comms[stream]));
  else ok(MPIX_Allreduce_enqueue(in_place ? MPI_IN_PLACE : input, output, count, MPI_INT, MPI_BXOR, comms[stream]));
  if (!has_kernel) ok(MPI_Type_free(&type));
  sums[n_sums] = (Sum){device_memory(sizeof *data * (size_t)count), has_kernel ? count : -count, first};
  copy(sums[n_sums++].result, output, sizeof *data * (size_t)count, streams[stream]);
  synchronize(streams[stream]);
  free(data);
}

static void check(void) {
  for (int n = 0; n < n_received; ++n) {
    const Message* const one = &received[n];
    unsigned char got[kBytes], expected[kBytes];
    memset(expected, 0xEE, kBytes);
    for (int i = 0; i < kRows * one->row; ++i)
      expected[offset_of(i, one->row, one->is_dense)] = value_of(one->number, i);
    api->fake_copy(got, results[n], kBytes);
    must(memcmp(got, expected, kBytes) == 0, "wrong bytes");
  }
  for (int n = 0; n < n_sums; ++n) {
    const int count = abs(sums[n].count);
    int* const got = malloc(sizeof *got * (size_t)count);
    api->fake_copy(got, sums[n].result, sizeof *got * (size_t)count);
    for (int i = 0; i < count; ++i) {
      int expected = 0;
      for (int r = 0; r < size; ++r) {
        const int its = sums[n].first * (r + 1) + i;
        expected = sums[n].count > 0 ? expected + its : expected ^ its;
      }
      must(got[i] == expected, "wrong sum");
    }
    free(got);
  }
}

int main(int argc, char** argv) {
  const int n_calls = atoi(argv[2]);
  n_streams = atoi(argv[3]);
  const int reduces = atoi(argv[4]), has_pinned = atoi(argv[5]);
  begin(&argc, &argv);
  state = strtoull(argv[1], NULL, 10);
  own = state + 77ull * (unsigned)rank + 1;
  results = calloc((size_t)n_calls, sizeof *results);
  received = calloc((size_t)n_calls, sizeof *received);
  sums = calloc((size_t)n_calls, sizeof *sums);
  for (int i = 0; i < 2; ++i) inputs[i] = device_memory(1024), outputs[i] = device_memory(1024);
  for (int s = 0; s < n_streams; ++s) {
    streams[s] = api->fake_stream_create(0);
    comms[s] = make_comm(streams[s]);
    for (int direction = 0; direction < 2; ++direction) {
      for (int i = 0; i < kPool; ++i) pools[s][direction][i] = device_memory(kBytes);
      host[s][direction] = api->fake_allocate("pinned", 0, kBytes);
      if (has_pinned) pools[s][direction][kPool - 1] = host[s][direction];
    }
  }
  for (int i = 0; i < n_calls; ++i) {
    if (reduces && draw(&state, 6) == 0) reduce();
    else transfer();
    if (n_pending > 0 && draw(&own, 4) == 0) complete((int)draw(&own, (unsigned)n_pending));
  }
  complete_all();
  for (int s = 0; s < n_streams; ++s) {
    if (s == 0) ok(MPI_Comm_free(&comms[s])); /* with exchanges in the queue */
    synchronize(streams[s]);
    if (s != 0) ok(MPI_Comm_free(&comms[s]));
  }
  check();
  if (rank == 0) printf("right\n");
  return MPI_Finalize();
}
