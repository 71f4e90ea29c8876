/* A program that ends its CUDA contexts: contexts SITUATION CONTEXT. Prints "ok" and returns 0.
 *
 * CONTEXT: "created" by cuCtxCreate and ended by cuCtxDestroy; "primary", retained and released; "reset", the primary one
 * that is ended by cudaDeviceReset (without the CUDA runtime, WITHOUT_CUDART: by cuDevicePrimaryCtxReset).
 *
 * Each situation sends strided GPU memory, and checks the bytes. */
#define _GNU_SOURCE
#include "contexts.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, PERSISTENT = 2 };

static void ended_after_finalize(void) {
  const CUdevice gpu = gpu_of(rank);
  const CUcontext context = begin(gpu);
  communicate(1, 1);
  MPI_Finalize();
  end(context, gpu);
}

static void ended_before_finalize(void) {
  const CUdevice gpu = gpu_of(rank);
  const CUcontext context = begin(gpu);
  communicate(1, 0);
  end(context, gpu);
  MPI_Finalize();
}

/* Requests and datatypes that outlive the context. */
static void ended_before_requests(void) {
  const CUdevice gpu = gpu_of(rank);
  const CUcontext context = begin(gpu);
  int* const out = filled(rank);
  int* const in = filled(-1);
  MPI_Request requests[PERSISTENT];
  MPI_Recv_init(in, 1, vector, left(), 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out, 1, vector, right(), 3, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 4; ++i) {
    MPI_Startall(PERSISTENT, requests);
    MPI_Waitall(PERSISTENT, requests, MPI_STATUSES_IGNORE);
  }
  check_received(in, -1, left());
  MPI_Barrier(MPI_COMM_WORLD);
  end(context, gpu);
  for (int i = 0; i < PERSISTENT; ++i) MPI_Request_free(&requests[i]);
  MPI_Type_free(&vector);
  MPI_Finalize();
}

static void several_phases(void) {
  const CUdevice gpu = gpu_of(rank);
  for (int round = 1; round <= 4; ++round) {
    const CUcontext context = begin(gpu);
    communicate(round, round % 2);
    end(context, gpu);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}

/* One rank's context ends, the others' go on. */
static void phases_of_one_rank(void) {
  const CUdevice gpu = gpu_of(rank);
  CUcontext context = begin(gpu);
  for (int round = 1; round <= 4; ++round) {
    communicate(round, 1);
    if (rank != 0) continue;
    end(context, gpu);
    context = begin(gpu);
  }
  MPI_Finalize();
  end(context, gpu);
}

/* The last of them is used while the first is gone. On one GPU, contexts are to be created. */
static void several_gpus(void) {
  const CUdevice gpus[2] = {gpu_of(rank), gpu_of(rank + 1)};
  CUcontext contexts[2];
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 2; ++i) {
      contexts[i] = begin(gpus[i]);
      communicate(2 * round + i, 1);
    }
    CHECK(cuCtxSetCurrent(contexts[0]));
    communicate(20 + round, 1);
    end(contexts[0], gpus[0]);
    CHECK(cuCtxSetCurrent(contexts[1]));
    communicate(30 + round, round % 2);
    end(contexts[1], gpus[1]);
  }
  MPI_Finalize();
}

static pthread_barrier_t all_packed, context_is_gone;

static void* pack_in_thread(void* its_context) {
  char packed[sizeof(int) * BLOCKS * BLOCK];
  CHECK(cuCtxSetCurrent((CUcontext)its_context));
  int* const buffer = filled(7);
  for (int i = 0; i < 3; ++i) {
    int position = 0;
    MPI_Pack(buffer, 1, vector, packed, sizeof packed, &position, MPI_COMM_SELF);
  }
  if (memcmp(packed, &(int){7 * INTS}, sizeof(int)) != 0) fail("wrong packed bytes");
  CHECK(cuCtxSetCurrent(NULL));
  return NULL;
}

static void* end_after_context(void* its_context) {
  pack_in_thread(its_context);
  pthread_barrier_wait(&all_packed);
  pthread_barrier_wait(&context_is_gone);
  return NULL;
}

static void in_threads(CUcontext context, CUdevice gpu) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&all_packed, NULL, THREADS + 1);
  pthread_barrier_init(&context_is_gone, NULL, THREADS + 1);
  for (int i = 0; i < THREADS; ++i) {
    pthread_create(&threads[i], NULL, pack_in_thread, context);
    pthread_join(threads[i], NULL);
  }
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, end_after_context, context);
  pthread_barrier_wait(&all_packed);
  communicate(5, 1);
  end(context, gpu);
  pthread_barrier_wait(&context_is_gone);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

static void threads_end_before_and_after(void) {
  const CUdevice gpu = gpu_of(rank);
  for (int round = 0; round < 2; ++round) in_threads(begin(gpu), gpu);
  MPI_Finalize();
}

/* In the handler of an error of MPI: where `exit` runs, the library and the shim are still in a call. */
static void leave_in_handler(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  puts("ok");
  exit(0);
}

static void exit_in_handler(int is_ended) {
  const CUdevice gpu = gpu_of(rank);
  const CUcontext context = begin(gpu);
  MPI_Errhandler handler;
  communicate(1, 0);
  MPI_Comm_create_errhandler(leave_in_handler, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  if (is_ended) end(context, gpu);
  MPI_Send(MPI_BOTTOM, 1, vector, size, 1, MPI_COMM_WORLD); /* there is no such rank */
  fail("the handler was not called");
}

static int leave_in_callback(MPI_Comm comm, int keyval, void* value, void* state) {
  (void)comm, (void)keyval, (void)value, (void)state;
  puts("ok");
  exit(0);
}

/* `is_finalize`: attributes of MPI_COMM_SELF are deleted by MPI_Finalize. */
static void exit_in_callback(int is_finalize, int is_ended) {
  const CUdevice gpu = gpu_of(rank);
  const CUcontext context = begin(gpu);
  MPI_Comm comm = MPI_COMM_SELF;
  int keyval;
  communicate(1, 0);
  if (!is_finalize) MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave_in_callback, &keyval, NULL);
  MPI_Comm_set_attr(comm, keyval, NULL);
  if (is_ended) end(context, gpu);
  if (is_finalize) MPI_Finalize();
  else MPI_Comm_free(&comm);
  fail("the callback was not called");
}

/* A destructor of the process finalizes MPI: those of its threads have run. */
static void finalize_at_exit(void) {
  MPI_Finalize();
  puts("ok");
}

static void finalized_at_exit(int is_ended) {
  const CUdevice gpu = gpu_of(rank);
  const CUcontext context = begin(gpu);
  communicate(1, 0);
  if (is_ended) end(context, gpu);
  atexit(finalize_at_exit);
  exit(0);
}

static void run(const char* situation) {
  const int is_ended = strstr(situation, ", ended") != NULL;
  if (strcmp(situation, "after finalize") == 0) ended_after_finalize();
  else if (strcmp(situation, "before finalize") == 0) ended_before_finalize();
  else if (strcmp(situation, "before requests") == 0) ended_before_requests();
  else if (strcmp(situation, "phases") == 0) several_phases();
  else if (strcmp(situation, "phases of one rank") == 0) phases_of_one_rank();
  else if (strcmp(situation, "several gpus") == 0) several_gpus();
  else if (strcmp(situation, "threads") == 0) threads_end_before_and_after();
  else if (strstr(situation, "exit in handler") != NULL) exit_in_handler(is_ended);
  else if (strstr(situation, "exit in callback") != NULL) exit_in_callback(0, is_ended);
  else if (strstr(situation, "exit in finalize") != NULL) exit_in_callback(1, is_ended);
  else if (strstr(situation, "finalized at exit") != NULL) finalized_at_exit(is_ended);
  else fail("what situation?");
}

int main(int argc, char** argv) {
  const int has_threads = argc > 1 && strcmp(argv[1], "threads") == 0;
  int provided;
  MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (argc != 3) fail("contexts SITUATION CONTEXT");
  way = argv[2];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(cuInit(0));
  MPI_Type_vector(BLOCKS, BLOCK, STRIDE, MPI_INT, &vector);
  MPI_Type_commit(&vector);
  run(argv[1]);
  puts("ok");
  return 0;
}
