/* For the programs that use tempi_mpix.h on the fake device. */
#include <dlfcn.h>
#include <face/api.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tempi_mpix.h>

static const tempi_api_table* api;
static int rank, size;

static void must(int is_met, const char* what) {
  if (is_met) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void begin(int* argc, char*** argv) {
  const tempi_api_table* (*find_api)(void);
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  *(void**)&find_api = dlsym(NULL, "tempi_api");
  must(find_api != NULL, "no TEMPI");
  api = find_api();
}

static void* device_memory(size_t bytes) {
  void* const made = api->fake_allocate("device", 0, bytes);
  must(made != NULL, "no device memory");
  return made;
}

/* In the order of the stream. */
static void copy(void* dst, const void* src, size_t bytes, void* stream) {
  must(api->fake_stream_copy(dst, src, bytes, stream) == 0, "no copy");
}
static void fill(void* dst, int value, size_t bytes, void* stream) {
  must(api->fake_stream_fill(dst, value, bytes, stream) == 0, "no fill");
}
static void synchronize(void* stream) { must(api->fake_stream_synchronize(stream) == 0, "no synchronize"); }

static void ok(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  must(0, text);
}

static MPIX_Stream make_mpix_stream(void* stream) {
  MPI_Info info;
  MPIX_Stream made = MPIX_STREAM_NULL;
  ok(MPI_Info_create(&info));
  ok(MPI_Info_set(info, "type", "cudaStream_t"));
  ok(MPIX_Info_set_hex(info, "value", &stream, sizeof stream));
  ok(MPIX_Stream_create(info, &made));
  ok(MPI_Info_free(&info));
  return made;
}

static MPI_Comm make_comm(void* stream) {
  MPI_Comm made = MPI_COMM_NULL;
  MPIX_Stream mpix_stream = make_mpix_stream(stream);
  ok(MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix_stream, &made));
  ok(MPIX_Stream_free(&mpix_stream)); /* the communicator keeps the stream */
  return made;
}
