/* Two ranks: a buffer is filled by queued work of a stream and sent in the next line, by blocking, nonblocking,
 * persistent and packed messages; what has been received is used by work that is queued behind the call. Each byte is
 * checked. Without TEMPI the functions of tempi.h say so. */
#include <face/api.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tempi.h>

enum { kRows = 40, kPitch = 24, kRow = 8, kBytes = kRows * kPitch, kPacked = kRows * kRow, kRounds = 24 };

static const tempi_api_table* api;
static int rank, peer;
static MPI_Datatype rows;
static cudaStream_t stream;

static void must(int is_met, const char* what) {
  if (is_met) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static char* device_memory(void) { return api->fake_allocate("device", 0, kBytes); }

static void exchange(int way, char* sent, char* received, char* packed[2], MPI_Request persistent[2]) {
  MPI_Request requests[2];
  int position = 0;
  switch (way) {
    case 0: MPI_Sendrecv(sent, 1, rows, peer, 0, received, 1, rows, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); break;
    case 1:
      MPI_Irecv(received, 1, rows, peer, 0, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(sent, 1, rows, peer, 0, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      break;
    case 2:
      MPI_Startall(2, persistent);
      MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
      break;
    default:
      MPI_Pack(sent, 1, rows, packed[0], kPacked, &position, MPI_COMM_WORLD);
      MPI_Sendrecv(packed[0], kPacked, MPI_PACKED, peer, 0, packed[1], kPacked, MPI_PACKED, peer, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      position = 0;
      MPI_Unpack(packed[1], kPacked, &position, received, 1, rows, MPI_COMM_WORLD);
  }
}

static void run(void) {
  char* const sent = device_memory();
  char* const received = device_memory();
  char* packed[2] = {device_memory(), device_memory()};
  char* used[kRounds];
  MPI_Request persistent[2];
  MPI_Recv_init(received, 1, rows, peer, 0, MPI_COMM_WORLD, &persistent[0]);
  MPI_Send_init(sent, 1, rows, peer, 0, MPI_COMM_WORLD, &persistent[1]);
  for (int round = 0; round < kRounds; ++round) {
    used[round] = device_memory();
    must(api->fake_stream_fill(sent, 2 * round + rank, kBytes, stream) == 0, "no fill");
    must(api->fake_stream_fill(received, 0xEE, kBytes, stream) == 0, "no fill");
    exchange(round % 4, sent, received, packed, persistent);
    must(api->fake_stream_copy(used[round], received, kBytes, stream) == 0, "no copy");
  }
  MPI_Request_free(&persistent[0]);
  MPI_Request_free(&persistent[1]);
  must(api->fake_stream_synchronize(stream) == 0, "no synchronize");
  for (int round = 0; round < kRounds; ++round) {
    unsigned char bytes[kBytes];
    api->fake_copy(bytes, used[round], kBytes);
    for (int i = 0; i < kBytes; ++i) must(bytes[i] == (i % kPitch < kRow ? 2 * round + peer : 0xEE), "wrong byte");
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  peer = 1 - rank;
  cudaStream_t set = NULL;
  const int code = TEMPI_Get_stream(&set);
  must(set == TEMPI_STREAM_NONE, "a stream is set at the start");
  const tempi_api_table* (*find_api)(void);
  *(void**)&find_api = dlsym(NULL, "tempi_api");
  if (find_api == NULL || code == TEMPI_ERR_NOT_LOADED) {
    must(code == TEMPI_ERR_NOT_LOADED && TEMPI_Set_stream(NULL) == TEMPI_ERR_NOT_LOADED, "TEMPI is not loaded");
    if (rank == 0) printf("not loaded\n");
    return MPI_Finalize();
  }
  api = find_api();
  MPI_Type_vector(kRows, kRow, kPitch, MPI_BYTE, &rows);
  MPI_Type_commit(&rows);
  stream = api->fake_stream_create(0);
  must(TEMPI_Set_stream(stream) == MPI_SUCCESS, "the stream is not set");
  must(TEMPI_Get_stream(&set) == MPI_SUCCESS && set == stream, "another stream is set");
  run();
  must(TEMPI_Set_stream((cudaStream_t)(intptr_t)0x77) != MPI_SUCCESS, "a handle of nothing is set");
  must(TEMPI_Get_stream(&set) == MPI_SUCCESS && set == stream, "an error has changed the stream");
  must(TEMPI_Set_stream(TEMPI_STREAM_NONE) == MPI_SUCCESS, "the stream stays");
  must(TEMPI_Get_stream(&set) == MPI_SUCCESS && set == TEMPI_STREAM_NONE, "the stream stays");
  MPI_Type_free(&rows);
  api->fake_stream_destroy(stream);
  if (rank == 0) printf("%d rounds are right\n", kRounds);
  return MPI_Finalize();
}
