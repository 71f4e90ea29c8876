/* Messages between GPUs from buffers that live for 1 to 3 cycles: a stress program for the mappings of two libraries.
 *
 *     short_lived_buffers [CYCLES [SEED [MOST_BYTES [EXTRAS]]]]
 *
 * A cycle: two buffers are allocated, filled, and used for a strided and a contiguous MPI_Sendrecv, MPI_Isend and
 * MPI_Irecv of both layouts with two neighbours, MPI_Bcast and MPI_Alltoall; every byte is checked; buffers whose time is
 * over are freed. EXTRAS 1: every 8th cycle also receives with MPI_ANY_SOURCE, MPI_Iallreduce, and messages between two
 * groups.
 *
 * The memory is that of the CUDA driver, on the GPU whose turn it is among the ranks of a node, or of the fake device
 * (TEMPI_DEVICE=fake). Rank 0 prints the cycles, the wrong bytes of all ranks, and the share of the sends that were
 * direct among those that could be. The shim prints warnings itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "face/api.h"

enum { LIVES = 3, BLOCK = 64, STRIDE = 128, LEAST = 4096, SEVENTH = 7 };

typedef uint64_t Word;
typedef struct {
  char *out, *in;
  int64_t bytes;
  int lives;
} Pair;

static int rank, size;
static const tempi_api_table* tempi; /* null: no shim */
static int is_fake;
static int64_t n_wrong, n_messages; /* messages: that this rank has sent to others, in collective calls, too */
static char *image, *expected;      /* of one buffer, in host memory */

/* ---- GPU memory: the few functions of the driver that are needed, by their prototypes */

typedef unsigned long long Address;
static int (*cu_init)(unsigned);
static int (*cu_device_count)(int*);
static int (*cu_retain)(void**, int);
static int (*cu_set_context)(void*);
static int (*cu_synchronize)(void);
static int (*cu_allocate)(Address*, size_t);
static int (*cu_free)(Address); /* found as a CUDA runtime finds it, so that frees pass TEMPI */
static int (*cu_get_function)(const char*, void**, int, uint64_t, void*);
static int (*cu_fill)(Address, unsigned char, size_t);
static int (*cu_to_device)(Address, const void*, size_t);
static int (*cu_to_host)(void*, Address, size_t);

static void must(int error, const char* what) {
  if (error == 0) return;
  fprintf(stderr, "%s failed: %d\n", what, error);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void open_driver(void) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  must(driver == NULL, "dlopen of libcuda.so.1");
#define FIND(variable, symbol) \
  *(void**)&variable = dlsym(driver, symbol); \
  must(variable == NULL, symbol)
  FIND(cu_init, "cuInit");
  FIND(cu_device_count, "cuDeviceGetCount");
  FIND(cu_retain, "cuDevicePrimaryCtxRetain");
  FIND(cu_set_context, "cuCtxSetCurrent");
  FIND(cu_synchronize, "cuCtxSynchronize");
  FIND(cu_allocate, "cuMemAlloc_v2");
  FIND(cu_get_function, "cuGetProcAddress_v2");
  must(cu_get_function("cuMemFree", (void**)&cu_free, 3020, 0, NULL), "cuMemFree");
  FIND(cu_fill, "cuMemsetD8_v2");
  FIND(cu_to_device, "cuMemcpyHtoD_v2");
  FIND(cu_to_host, "cuMemcpyDtoH_v2");
}

static void use_gpu(int number) {
  void* context = NULL;
  int n_gpus = 0;
  open_driver();
  must(cu_init(0), "cuInit");
  must(cu_device_count(&n_gpus), "cuDeviceGetCount");
  must(n_gpus == 0, "looking for a GPU");
  must(cu_retain(&context, number % n_gpus), "cuDevicePrimaryCtxRetain");
  must(cu_set_context(context), "cuCtxSetCurrent");
}

static char* allocate(int64_t bytes) {
  if (is_fake) return tempi->fake_allocate("device", rank % 2, (size_t)bytes);
  Address address = 0;
  must(cu_allocate(&address, (size_t)bytes), "cuMemAlloc");
  return (char*)address;
}

static void deallocate(char* memory) {
  if (is_fake) tempi->fake_deallocate(memory);
  else must(cu_free((Address)memory), "cuMemFree");
}

static void put(char* memory, const char* from, int64_t bytes) {
  if (is_fake) must(tempi->fake_copy(memory, from, (size_t)bytes), "fake_copy");
  else must(cu_to_device((Address)memory, from, (size_t)bytes), "cuMemcpyHtoD");
}

static void get(char* to, const char* memory, int64_t bytes) {
  if (is_fake) must(tempi->fake_copy(to, memory, (size_t)bytes), "fake_copy");
  else must(cu_to_host(to, (Address)memory, (size_t)bytes), "cuMemcpyDtoH");
}

static void clear(char* memory, int64_t bytes) {
  if (is_fake) {
    memset(image, 0, (size_t)bytes);
    put(memory, image, bytes);
  } else {
    must(cu_fill((Address)memory, 0, (size_t)bytes), "cuMemsetD8");
    must(cu_synchronize(), "cuCtxSynchronize");
  }
}

/* ---- what a rank's buffer holds in a cycle, and its check */

static void fill(char* to, int of, int64_t cycle, int64_t first, int64_t bytes) {
  Word* const words = (Word*)to;
  const Word base = ((Word)of << 48) + ((Word)cycle << 28) + 1;
  for (int64_t i = 0; i < bytes / 8; ++i) words[i] = (base + (Word)(first / 8 + i)) * 0x9E3779B97F4A7C15u;
}

/* In `expected`: zeros between the blocks. */
static void fill_strided(char* to, int of, int64_t cycle, int64_t first, int64_t bytes) {
  fill(to, of, cycle, first, bytes);
  for (int64_t at = BLOCK; at < bytes; at += STRIDE) memset(to + at, 0, STRIDE - BLOCK);
}

static void check(const char* what, const char* memory, int64_t bytes, int64_t cycle) {
  get(image, memory, bytes);
  if (memcmp(image, expected, (size_t)bytes) == 0) return;
  int64_t wrong = 0;
  for (int64_t i = 0; i < bytes; ++i) wrong += image[i] != expected[i];
  n_wrong += wrong;
  fprintf(stderr, "rank %d, cycle %lld, %s: %lld of %lld bytes are wrong\n", rank, (long long)cycle, what,
          (long long)wrong, (long long)bytes);
}

/* ---- a cycle */

static MPI_Datatype strided(int64_t bytes) {
  MPI_Datatype type;
  MPI_Type_vector((int)(bytes / STRIDE), BLOCK, STRIDE, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

static void shift(const Pair* pair, int64_t cycle, int is_strided) {
  const int there = (rank + 1) % size, back = (rank + size - 1) % size;
  MPI_Datatype type = is_strided ? strided(pair->bytes) : MPI_BYTE;
  const int count = is_strided ? 1 : (int)pair->bytes;
  clear(pair->in, pair->bytes);
  MPI_Sendrecv(pair->out, count, type, there, 1, pair->in, count, type, back, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  ++n_messages;
  (is_strided ? fill_strided : fill)(expected, back, cycle, 0, pair->bytes);
  check(is_strided ? "strided MPI_Sendrecv" : "MPI_Sendrecv", pair->in, pair->bytes, cycle);
  if (is_strided) MPI_Type_free(&type);
}

/* The first half goes to the next rank, strided; the second one to the rank before, contiguous. */
static void exchange(const Pair* pair, int64_t cycle) {
  const int there = (rank + 1) % size, back = (rank + size - 1) % size;
  const int64_t half = pair->bytes / 2 / STRIDE * STRIDE;
  MPI_Datatype type = strided(half);
  MPI_Request all[4];
  clear(pair->in, pair->bytes);
  MPI_Irecv(pair->in, 1, type, back, 2, MPI_COMM_WORLD, &all[0]);
  MPI_Irecv(pair->in + half, (int)half, MPI_BYTE, there, 3, MPI_COMM_WORLD, &all[1]);
  MPI_Isend(pair->out, 1, type, there, 2, MPI_COMM_WORLD, &all[2]);
  MPI_Isend(pair->out + half, (int)half, MPI_BYTE, back, 3, MPI_COMM_WORLD, &all[3]);
  MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
  n_messages += 2;
  fill_strided(expected, back, cycle, 0, half);
  fill(expected + half, there, cycle, half, half);
  check("MPI_Isend", pair->in, 2 * half, cycle);
  MPI_Type_free(&type);
}

static void broadcast(const Pair* pair, int64_t cycle) {
  const int root = (int)(cycle % size);
  clear(pair->in, pair->bytes);
  if (rank == root) {
    fill(expected, root, cycle, 0, pair->bytes);
    put(pair->in, expected, pair->bytes);
  }
  MPI_Bcast(pair->in, (int)pair->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
  if (rank == root) n_messages += size - 1;
  fill(expected, root, cycle, 0, pair->bytes);
  check("MPI_Bcast", pair->in, pair->bytes, cycle);
}

static void all_to_all(const Pair* pair, int64_t cycle) {
  const int64_t part = pair->bytes / size / 8 * 8;
  clear(pair->in, pair->bytes);
  MPI_Alltoall(pair->out, (int)part, MPI_BYTE, pair->in, (int)part, MPI_BYTE, MPI_COMM_WORLD);
  n_messages += size - 1;
  for (int from = 0; from < size; ++from) fill(expected + from * part, from, cycle, rank * part, part);
  check("MPI_Alltoall", pair->in, size * part, cycle);
}

static MPI_Comm wild, between = MPI_COMM_NULL;

static void make_comms(void) {
  MPI_Comm half;
  MPI_Comm_dup(MPI_COMM_WORLD, &wild);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  if (size % 2 == 0) MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 4, &between);
}

static void receive_from_any(const Pair* pair, int64_t cycle) {
  const int there = (rank + 1) % size, back = (rank + size - 1) % size;
  MPI_Request request;
  clear(pair->in, pair->bytes);
  MPI_Irecv(pair->in, (int)pair->bytes, MPI_BYTE, MPI_ANY_SOURCE, 5, wild, &request);
  MPI_Send(pair->out, (int)pair->bytes, MPI_BYTE, there, 5, wild);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  fill(expected, back, cycle, 0, pair->bytes);
  check("MPI_ANY_SOURCE", pair->in, pair->bytes, cycle);
}

static void cross(const Pair* pair, int64_t cycle) {
  if (between == MPI_COMM_NULL) return;
  clear(pair->in, pair->bytes);
  MPI_Sendrecv(pair->out, (int)pair->bytes, MPI_BYTE, rank / 2, 6, pair->in, (int)pair->bytes, MPI_BYTE, rank / 2, 6,
               between, MPI_STATUS_IGNORE);
  fill(expected, rank ^ 1, cycle, 0, pair->bytes);
  check("two groups", pair->in, pair->bytes, cycle);
}

static void add_up(const Pair* pair, int64_t cycle) {
  const int n = (int)(pair->bytes / 8);
  MPI_Request request;
  clear(pair->in, pair->bytes);
  MPI_Iallreduce(pair->out, pair->in, n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  memset(expected, 0, (size_t)pair->bytes);
  for (int from = 0; from < size; ++from) {
    fill(image, from, cycle, 0, pair->bytes);
    for (int64_t i = 0; i < n; ++i) ((Word*)expected)[i] += ((Word*)image)[i];
  }
  check("MPI_Iallreduce", pair->in, pair->bytes, cycle);
}

/* ---- random sizes and lives, the same on all ranks */

static Word state;
static Word draw(void) {
  state += 0x9E3779B97F4A7C15u;
  Word mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return mixed ^ (mixed >> 31);
}

/* As many small ones as large ones: a power of two, and up to as much again. */
static int64_t draw_bytes(int64_t most) {
  int n_powers = 0;
  while ((int64_t)LEAST << (n_powers + 1) <= most) ++n_powers;
  const int64_t power = (int64_t)LEAST << (n_powers > 0 ? draw() % (Word)n_powers : 0);
  const int64_t bytes = (power + (int64_t)(draw() % (Word)power)) / 256 * 256;
  return draw() % SEVENTH == 0 ? power : bytes;
}

static void free_old(Pair* pairs) {
  for (int i = 0; i < LIVES; ++i) {
    if (pairs[i].out == NULL || --pairs[i].lives > 0) continue;
    deallocate(pairs[i].out);
    deallocate(pairs[i].in);
    pairs[i].out = NULL;
  }
}

static Pair* make_pair(Pair* pairs, int64_t cycle, int64_t most) {
  Pair* pair = pairs;
  while (pair->out != NULL) ++pair;
  pair->bytes = draw_bytes(most);
  pair->lives = 1 + (int)(draw() % LIVES);
  pair->out = allocate(pair->bytes);
  pair->in = allocate(pair->bytes);
  must(pair->out == NULL || pair->in == NULL, "an allocation");
  fill(expected, rank, cycle, 0, pair->bytes);
  put(pair->out, expected, pair->bytes);
  return pair;
}

static void run(int64_t cycles, int64_t most, int has_extras) {
  Pair pairs[LIVES + 1] = {{0}};
  for (int64_t cycle = 0; cycle < cycles; ++cycle) {
    const Pair* const pair = make_pair(pairs, cycle, most);
    shift(pair, cycle, 1);
    shift(pair, cycle, 0);
    exchange(pair, cycle);
    broadcast(pair, cycle);
    all_to_all(pair, cycle);
    if (has_extras && cycle % 8 == 0) {
      receive_from_any(pair, cycle);
      cross(pair, cycle);
      add_up(pair, cycle);
    }
    free_old(pairs);
  }
}

/* ---- the result */

static int64_t counted(const char* function, const char* outcome) {
  tempi_counter rows[512];
  int64_t calls = 0;
  const size_t n = tempi->counters(rows, 512);
  for (size_t i = 0; i < n && i < 512; ++i) {
    if (strcmp(rows[i].function, function) == 0 && strstr(rows[i].outcome, outcome) == rows[i].outcome)
      calls += (int64_t)rows[i].calls;
  }
  return calls;
}

/* The share is that of the sends that were direct, or tried to be. */
static void print(int64_t cycles) {
  int64_t mine[4] = {n_wrong, n_messages, 0, 0}, all[4];
  if (tempi != NULL) {
    mine[2] = counted("direct", "taken: direct");
    mine[3] = mine[2] + counted("direct", "not direct: no receive") + counted("direct", "not direct: the buffer");
  }
  MPI_Reduce(mine, all, 4, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  printf("cycles %lld, wrong bytes %lld, messages %lld, direct %lld (%.1f %%)\n", (long long)cycles, (long long)all[0],
         (long long)all[1], (long long)all[2], all[3] > 0 ? 100.0 * (double)all[2] / (double)all[3] : 0.0);
}

int main(int argc, char** argv) {
  MPI_Comm node;
  int on_node;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const tempi_api_table* (*table)(void) = (const tempi_api_table* (*)(void))dlsym(RTLD_DEFAULT, "tempi_api");
  tempi = table != NULL ? table() : NULL;
  is_fake = getenv("TEMPI_DEVICE") != NULL && strcmp(getenv("TEMPI_DEVICE"), "fake") == 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &on_node);
  if (!is_fake) use_gpu(on_node);
  const int64_t cycles = argc > 1 ? atoll(argv[1]) : 1000, most = argc > 3 ? atoll(argv[3]) : (int64_t)64 << 20;
  const int has_extras = argc > 4 ? atoi(argv[4]) : 0;
  state = argc > 2 ? (Word)atoll(argv[2]) : 1;
  image = malloc((size_t)most);
  expected = malloc((size_t)most);
  make_comms();
  run(cycles, most, has_extras);
  print(cycles);
  MPI_Finalize();
  return n_wrong != 0;
}
