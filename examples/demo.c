/* Packs a few datatypes on rank 0, sends the packed bytes to rank 1 and unpacks them there. Plain MPI, nothing else.
 *
 *   demo host|gpu [NAME ...]     prints "NAME payload_bytes pack_seconds unpack_seconds packed_hash unpacked_hash"
 *
 * With "gpu" the strided side lies in GPU memory (CUDA's driver loaded by name) and the packed side in pinned memory.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRepeats = 41, kBoxEdge = 128, kFields = 8 };
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

/* A face of width 3 of a cube of doubles; dimension 2 is the contiguous one. */
static MPI_Datatype face(int dimension) {
  int sizes[3] = {kBoxEdge, kBoxEdge, kBoxEdge}, subsizes[3] = {kBoxEdge, kBoxEdge, kBoxEdge}, starts[3] = {0, 0, 0};
  MPI_Datatype type;
  subsizes[dimension] = 3;
  starts[dimension] = 1;
  MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  return type;
}

static MPI_Datatype scattered_doubles(void) {
  enum { kCount = 100000 };
  static int displacements[kCount];
  MPI_Datatype type;
  for (int i = 0; i < kCount; ++i) displacements[i] = 5 * i + (i * 7919) % 4;
  MPI_Type_create_indexed_block(kCount, 1, displacements, MPI_DOUBLE, &type);
  return type;
}

static MPI_Datatype faces_of_fields(void) {
  int ones[kFields];
  MPI_Aint displacements[kFields];
  MPI_Datatype one = face(2), types[kFields], type;
  for (int i = 0; i < kFields; ++i) {
    ones[i] = 1;
    displacements[i] = (MPI_Aint)i * kBoxEdge * kBoxEdge * kBoxEdge * 8;
    types[i] = one;
  }
  MPI_Type_create_struct(kFields, ones, displacements, types, &type);
  MPI_Type_free(&one);
  return type;
}

static const char* const kNames[] = {"vector-4B", "vector-16B", "vector-256B",   "vector-4KiB", "face-x",
                                     "face-y",    "face-z",     "indexed-block", "struct-of-8"};
enum { kTypes = sizeof kNames / sizeof *kNames };

static MPI_Datatype make_type(int which) {
  const int payload = 4 << 20;
  switch (which) {
    case 0: return every_other(4, payload / 4);
    case 1: return every_other(16, payload / 16);
    case 2: return every_other(256, payload / 256);
    case 3: return every_other(4096, payload / 4096);
    case 4: return face(2);
    case 5: return face(1);
    case 6: return face(0);
    case 7: return scattered_doubles();
    default: return faces_of_fields();
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

static double once(int rank, MPI_Datatype type, void* data, void* packed, int bytes) {
  int position = 0;
  double begin = MPI_Wtime();
  if (rank == 0) {
    MPI_Pack(data, 1, type, packed, bytes, &position, MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - begin;
    MPI_Send(packed, position, MPI_PACKED, 1, 0, MPI_COMM_WORLD);
    return seconds;
  }
  MPI_Recv(packed, bytes, MPI_PACKED, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  begin = MPI_Wtime();
  MPI_Unpack(packed, bytes, &position, data, 1, type, MPI_COMM_WORLD);
  return MPI_Wtime() - begin;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void run(int which, int rank, void* data, void* packed, Word* host) {
  int bytes;
  double times[kRepeats], pack_and_unpack[2];
  Word mine, hashes[2];
  MPI_Datatype type = make_type(which);
  MPI_Type_commit(&type);
  MPI_Type_size(type, &bytes);

  fill(host, rank);
  upload(data, host, (size_t)kBufferBytes);
  memset(packed, 0, (size_t)bytes);
  for (int i = 0; i < kRepeats; ++i) {
    times[i] = once(rank, type, data, packed, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  download(host, data, (size_t)kBufferBytes);
  mine = rank == 0 ? hash(packed, bytes) : hash(host, kBufferBytes);

  qsort(times, kRepeats, sizeof *times, by_size);
  MPI_Gather(&times[kRepeats / 2], 1, MPI_DOUBLE, pack_and_unpack, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Gather(&mine, 1, MPI_UNSIGNED_LONG_LONG, hashes, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%s %d %.9f %.9f %016llx %016llx\n", kNames[which], bytes, pack_and_unpack[0], pack_and_unpack[1], hashes[0],
           hashes[1]);
    fflush(stdout);
  }
  MPI_Type_free(&type);
}

static int wanted(int argc, char** argv, const char* name) {
  for (int i = 2; i < argc; ++i) {
    if (!strcmp(argv[i], name)) return 1;
  }
  return argc <= 2;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(size != 2, "starting with two ranks");
  use_gpu = argc > 1 && !strcmp(argv[1], "gpu");
  if (use_gpu) open_gpu();

  void* data = data_memory((size_t)kBufferBytes);
  void* packed = packed_memory((size_t)16 << 20);
  Word* host = malloc((size_t)kBufferBytes);
  for (int which = 0; which < kTypes; ++which) {
    if (wanted(argc, argv, kNames[which])) run(which, rank, data, packed, host);
  }
  MPI_Finalize();
  return 0;
}
