/* Packs a few datatypes on rank 0, sends the packed bytes to rank 1 and unpacks them there. Plain MPI, nothing else.
 *
 *   demo host|gpu SECONDS [NAME ...]     for about SECONDS a datatype; prints for each
 *     "pack NAME payload_bytes pack_seconds unpack_seconds packed_hash unpacked_hash"
 *
 * All times are the least ones: other programs on the machine evict the buffers from the caches, and a call then takes
 * up to fifteen times as long, in some launches most of the calls.
 *
 * With "gpu" the strided side lies in GPU memory (CUDA's driver loaded by name) and the packed side in pinned memory;
 * then messages of the datatypes from GPU memory to GPU memory are timed, too: "message NAME seconds".
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostRepeats = 2000, kBoxEdge = 64, kFields = 8, kRows = 512, kParticles = 20000, kPoints = 20000 };
static const MPI_Aint kBufferBytes = (MPI_Aint)kFields * kBoxEdge * kBoxEdge * kBoxEdge * 8;

/* ---- memory: the host's, or the GPU's through five functions of CUDA's driver ---- */

typedef unsigned long long DevicePtr;
static int use_gpu;
static int (*cu_alloc)(DevicePtr*, size_t), (*cu_alloc_host)(void**, size_t, unsigned);
static int (*cu_to_device)(DevicePtr, const void*, size_t), (*cu_to_host)(void*, DevicePtr, size_t);

static void check(int failed, const char* what) {
  if (!failed) return;
  fprintf(stderr, "demo: %s failed\n", what);
  exit(2);
}

static void open_gpu(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  check(!driver, "loading libcuda.so.1");
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*retain)(void**, int) = (int (*)(void**, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*make_current)(void*) = (int (*)(void*))dlsym(driver, "cuCtxSetCurrent");
  cu_alloc = (int (*)(DevicePtr*, size_t))dlsym(driver, "cuMemAlloc_v2");
  cu_alloc_host = (int (*)(void**, size_t, unsigned))dlsym(driver, "cuMemHostAlloc");
  cu_to_device = (int (*)(DevicePtr, const void*, size_t))dlsym(driver, "cuMemcpyHtoD_v2");
  cu_to_host = (int (*)(void*, DevicePtr, size_t))dlsym(driver, "cuMemcpyDtoH_v2");
  void* context = NULL;
  check(init(0) || retain(&context, 0) || make_current(context), "starting the GPU");
}

static void* data_memory(size_t bytes) {
  DevicePtr device = 0;
  if (!use_gpu) return malloc(bytes);
  check(cu_alloc(&device, bytes), "cuMemAlloc");
  return (void*)device;
}

static void* packed_memory(size_t bytes) {
  void* memory = NULL;
  if (!use_gpu) return malloc(bytes);
  check(cu_alloc_host(&memory, bytes, 0), "cuMemHostAlloc");
  return memory;
}

static void upload(void* data, const void* host, size_t bytes) {
  if (use_gpu) check(cu_to_device((DevicePtr)data, host, bytes), "copy to the GPU");
  else memcpy(data, host, bytes);
}

static void download(void* host, const void* data, size_t bytes) {
  if (use_gpu) check(cu_to_host(host, (DevicePtr)data, bytes), "copy from the GPU");
  else memcpy(host, data, bytes);
}

/* ---- the datatypes ---- */

static MPI_Datatype every_other(int block_bytes, int count) {
  MPI_Datatype type;
  MPI_Type_vector(count, block_bytes, 2 * block_bytes, MPI_BYTE, &type);
  return type;
}

/* `count` elements of `one`, `extent` bytes apart. Frees `one`. */
static MPI_Datatype repeated(MPI_Datatype one, MPI_Aint extent, int count) {
  MPI_Datatype resized, type;
  MPI_Type_create_resized(one, 0, extent, &resized);
  MPI_Type_contiguous(count, resized, &type);
  MPI_Type_free(&resized);
  MPI_Type_free(&one);
  return type;
}

static MPI_Datatype matrix_by_columns(void) {
  MPI_Datatype column;
  MPI_Type_vector(kRows, 1, kRows, MPI_DOUBLE, &column);
  return repeated(column, sizeof(double), kRows);
}

/* Position (three doubles) and charge of a particle of eight doubles. */
static MPI_Datatype fields_of_particles(void) {
  const int counts[2] = {3, 1};
  const MPI_Aint displacements[2] = {0, 5 * sizeof(double)};
  const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_DOUBLE};
  MPI_Datatype one;
  MPI_Type_create_struct(2, counts, displacements, types, &one);
  return repeated(one, 8 * sizeof(double), kParticles);
}

/* One of each five points. */
static MPI_Datatype points_of_mesh(void) {
  static int displacements[kPoints];
  MPI_Datatype type;
  for (unsigned i = 0; i < kPoints; ++i) displacements[i] = (int)(5 * i + (i * 2654435761u >> 13) % 5);
  MPI_Type_create_indexed_block(kPoints, 1, displacements, MPI_DOUBLE, &type);
  return type;
}

/* A face of width 3 of a cube of doubles, across the contiguous dimension, in each field. */
static MPI_Datatype faces_of_fields(void) {
  const int sizes[4] = {kFields, kBoxEdge, kBoxEdge, kBoxEdge}, subsizes[4] = {kFields, kBoxEdge, kBoxEdge, 3},
            starts[4] = {0, 0, 0, 1};
  MPI_Datatype type;
  MPI_Type_create_subarray(4, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  return type;
}

static const char* const kNames[] = {"complex", "matrix", "particles", "mesh", "faces", "blocks"};
enum { kTypes = sizeof kNames / sizeof *kNames };

static MPI_Datatype make_type(int which) {
  const int payload = 1 << 20;
  switch (which) {
    case 0: return every_other(16, payload / 16);
    case 1: return matrix_by_columns();
    case 2: return fields_of_particles();
    case 3: return points_of_mesh();
    case 4: return faces_of_fields();
    default: return every_other(4096, payload / 4096);
  }
}

/* ---- one datatype: pack, send, unpack ---- */

typedef unsigned long long Word; /* all payloads and buffers are whole words */

static Word hash(const Word* words, MPI_Aint bytes) {
  Word h = 14695981039346656037ULL;
  for (MPI_Aint i = 0; i < bytes / 8; ++i) h = (h ^ (h >> 29) ^ words[i]) * 1099511628211ULL;
  return h;
}

/* Rank 0 sends bytes that differ everywhere; bytes that rank 1 does not receive stay 0xee. */
static void fill(Word* words, int rank) {
  for (MPI_Aint i = 0; i < kBufferBytes / 8; ++i)
    words[i] = rank == 0 ? i * 0x9e3779b97f4a7c15ULL : 0xeeeeeeeeeeeeeeeeULL;
}

/* MPI_Pack on rank 0, MPI_Unpack on rank 1. */
static double once(int rank, MPI_Datatype type, void* data, void* packed, int bytes) {
  int position = 0;
  const double begin = MPI_Wtime();
  if (rank == 0) MPI_Pack(data, 1, type, packed, bytes, &position, MPI_COMM_WORLD);
  else MPI_Unpack(packed, bytes, &position, data, 1, type, MPI_COMM_WORLD);
  return MPI_Wtime() - begin;
}

/* Half a round trip of a message of the datatype. */
static double message(int rank, MPI_Datatype type, void* data) {
  double begin = MPI_Wtime();
  if (rank == 0) MPI_Send(data, 1, type, 1, 1, MPI_COMM_WORLD);
  MPI_Recv(data, 1, type, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(data, 1, type, 0, 1, MPI_COMM_WORLD);
  return (MPI_Wtime() - begin) / 2;
}

static double less(double a, double b) { return a < b ? a : b; }

/* What comes after a first time of `first` seconds on the slower rank, as often as there is time. 0: it is too slow. */
static int repeats(double first, double seconds) {
  double slowest;
  MPI_Allreduce(&first, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double n = seconds / slowest;
  return n < 1 ? 0 : n < 9 ? 9 : n > kMostRepeats ? kMostRepeats : (int)n;
}

/* Rank 1 waits until rank 0 has ended: two processes that share a GPU would take turns, and each turn takes longer than
 * the packing. */
static double pack_time(int rank, MPI_Datatype type, void* data, void* packed, int bytes, double seconds) {
  if (rank == 1) MPI_Recv(packed, bytes, MPI_PACKED, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  double least = once(rank, type, data, packed, bytes);
  if (rank == 0) MPI_Send(packed, bytes, MPI_PACKED, 1, 0, MPI_COMM_WORLD);
  const int n = repeats(least, seconds);
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; turn == rank && i < n; ++i) least = less(least, once(rank, type, data, packed, bytes));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return least;
}

static double message_time(int rank, MPI_Datatype type, void* data, double seconds) {
  double least = message(rank, type, data);
  const int n = repeats(least, seconds);
  for (int i = 0; i < n; ++i) least = less(least, message(rank, type, data));
  return least;
}

static void run_packing(int which, int rank, void* data, void* packed, Word* host, double seconds) {
  int bytes;
  double time, pack_and_unpack[2];
  Word mine, hashes[2];
  MPI_Datatype type = make_type(which);
  MPI_Type_commit(&type);
  MPI_Type_size(type, &bytes);

  fill(host, rank);
  upload(data, host, (size_t)kBufferBytes);
  memset(packed, 0, (size_t)bytes);
  time = pack_time(rank, type, data, packed, bytes, seconds);
  download(host, data, (size_t)kBufferBytes);
  mine = rank == 0 ? hash(packed, bytes) : hash(host, kBufferBytes);

  MPI_Gather(&time, 1, MPI_DOUBLE, pack_and_unpack, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Gather(&mine, 1, MPI_UNSIGNED_LONG_LONG, hashes, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("pack %s %d %.9f %.9f %016llx %016llx\n", kNames[which], bytes, pack_and_unpack[0], pack_and_unpack[1],
           hashes[0], hashes[1]);
    fflush(stdout);
  }
  MPI_Type_free(&type);
}

static void run_messages(int which, int rank, void* data, double seconds) {
  MPI_Datatype type = make_type(which);
  MPI_Type_commit(&type);
  const double time = message_time(rank, type, data, seconds);
  if (rank == 0) {
    printf("message %s %.9f\n", kNames[which], time);
    fflush(stdout);
  }
  MPI_Type_free(&type);
}

static int wanted(int argc, char** argv, const char* name) {
  for (int i = 3; i < argc; ++i) {
    if (!strcmp(argv[i], name)) return 1;
  }
  return argc <= 3;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(size != 2 || argc < 3, "starting with two ranks, and with two arguments or more,");
  use_gpu = !strcmp(argv[1], "gpu");
  if (use_gpu) open_gpu();

  void* data = data_memory((size_t)kBufferBytes);
  void* packed = packed_memory((size_t)4 << 20);
  Word* host = malloc((size_t)kBufferBytes);
  for (int which = 0; which < kTypes; ++which) {
    if (wanted(argc, argv, kNames[which])) run_packing(which, rank, data, packed, host, atof(argv[2]));
  }
  for (int which = 0; use_gpu && which < kTypes; ++which) {
    if (wanted(argc, argv, kNames[which])) run_messages(which, rank, data, atof(argv[2]));
  }
  MPI_Finalize();
  return 0;
}
