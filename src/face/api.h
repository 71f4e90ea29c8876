/* The C interface of libtempi.so for the Python package: one table of functions, which dlsym finds
 * by the name "tempi_api".
 * MPI handles travel as integers or pointers widened to uint64_t, so that one table serves every MPI ABI.
 * Functions that return text return a string from malloc that the caller frees. */
#ifndef TEMPI_API_H
#define TEMPI_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEMPI_API_VERSION 14

typedef struct tempi_option {
  const char* name; /* without TEMPI_ */
  const char* value;
  const char* fallback;
  const char* meaning;
  int from_environment;
} tempi_option;

typedef struct tempi_counter {
  const char* function; /* "MPI_Pack", ... */
  const char* outcome;  /* "taken", or why it was passed on */
  uint64_t calls;
  uint64_t bytes;
  double seconds;
  double predicted_seconds; /* of the same calls, where there is a profile; else 0 */
} tempi_counter;

typedef struct tempi_features { /* what the time of a transfer depends on: model/fit.hpp */
  int64_t bytes, blocks, touched, pages;
  int is_contiguous, is_indexed;
} tempi_features;

typedef struct tempi_explanation { /* all text from malloc */
  char* error;                     /* null when the datatype could be explained; then all others are null */
  char* as_built;
  char* canonical;
  char* boxes;
  char* plan;
  tempi_features features;
} tempi_explanation;

typedef struct tempi_measurement {
  const char* what;     /* "pack", "unpack": one end of a message.
                           "message": packed bytes between two ranks.
                           "strided": the same, with packing and unpacking of the datatype.
                           "typed": a message of the datatype in host memory, by MPI calls.
                           "direct": a direct message of GPU memory, by MPI calls.
                           "self": like "typed" or "direct", from a rank to itself.
                           "reduce": MPI_Allreduce of doubles in GPU memory, of two ranks.
                           "reduce_local": MPI_Reduce_local of doubles in host memory. */
  const char* strategy; /* "pack", "unpack": "device", "oneshot", "staged" or "auto" for GPU memory;
                           "host" or "library" for host memory.
                           "message": "device" (GPU memory) or "host" (host memory).
                           "strided": a strategy, or "auto".
                           "typed": "host" or "library". "direct": "direct".
                           "self": "host", "library" or "direct".
                           "reduce", "reduce_local": not used. */
  uint64_t datatype;    /* the data are `count` elements; "message" and reductions use only their size */
  int64_t count;
  int64_t parts; /* number of chunks for strategy "staged"; 0: as many as the shim would choose */
  int peer;      /* for messages: rank in MPI_COMM_WORLD. Both ranks call; the lower measures. */
  double max_seconds;
  size_t max_samples;
} tempi_measurement;

typedef struct tempi_trial tempi_trial; /* one transfer within GPU memory, to be done with any launch parameters */

typedef struct tempi_api_table {
  int version;
  const char* (*build_info)(void);  /* "key: value" lines: version, compiler, MPI ABI, CUDA, ... */
  const char* (*mpi_library)(void); /* path of the MPI library found, "" when none is loaded */
  const char* (*cuda_aware)(void);  /* "yes: why", "no: why" or "unknown ..."; "" when no MPI library is loaded */
  int (*active)(void);              /* 1 when calls are being handled */
  size_t (*options)(const tempi_option** rows);
  const char* (*option_warnings)(void); /* a line for each TEMPI_ variable that has no effect, or an old name */
  size_t (*counters)(tempi_counter* rows, size_t capacity); /* returns how many there are */
  void (*reset_counters)(void);
  tempi_explanation (*explain)(uint64_t datatype, int64_t count);
  /* Memory of the fake device (TEMPI_DEVICE=fake): null on failure. kind: "device", "pinned", "managed". */
  void* (*fake_allocate)(const char* kind, int ordinal, size_t bytes);
  void (*fake_deallocate)(void* address);
  int (*fake_copy)(void* dst, const void* src,
                   size_t bytes);     /* each of the two may be fake device memory; 0 on success */
  uint64_t (*fake_unfinished)(void);  /* operations queued and not yet done */
  uint64_t (*comm_id)(uint64_t comm); /* the same on all members; 0: none (peer/ids.hpp) */
  /* Times a part of a message. Null, or the error text (from malloc); seconds has room for max_samples. */
  char* (*measure)(const tempi_measurement* what, double* seconds, size_t* n_samples);
  char* (*profile)(void); /* path of the profile that messages are predicted from, "" without one; from malloc */
  /* The facts that identify a profile: "key: value" lines, from malloc. MPI must be initialised. */
  char* (*machine)(void);
  /* Opens a trial with one element of the datatype, which must have data. On failure, returns null
   * and sets *error (from malloc). */
  tempi_trial* (*trial_open)(uint64_t datatype, int unpacks, char** error);
  /* Checks the bytes that launches with `values` (in the order of base/tuning.def) move, then times
   * the launches. Returns null, or an error text (from malloc), also if the bytes are wrong.
   * seconds has room for *n_samples. */
  char* (*trial_measure)(tempi_trial* trial, const uint32_t* values, double max_seconds, double* seconds,
                         size_t* n_samples);
  void (*trial_close)(tempi_trial* trial);
  /* Device memory of the GPU that owns `address`. Null if no GPU reaches it, or no memory is left. */
  void* (*allocate_beside)(const void* address, size_t bytes);
  void (*deallocate)(void* address);
  /* The answer to "can messages be direct?": "yes: ...", "to oneself; ..." or "no: ...", from
   * malloc. */
  char* (*direct)(void);
  /* 1: a kernel on the first GPU reaches memory of the other one. Ordinals of this process, which uses CUDA. */
  int (*reaches)(int ordinal, int other);
  int (*is_on_this_node)(int rank);      /* of MPI_COMM_WORLD; 0: no, or not known (peer/node.hpp) */
  void (*fake_end_context)(int ordinal); /* the cudaDeviceReset of the fake device */
  /* The stream of the calling thread, as TEMPI_Set_stream and TEMPI_Get_stream of include/tempi.h. */
  int (*set_stream)(void* stream);
  void* (*get_stream)(void);
  /* Later MPI calls of this thread on GPU memory start after the work that `stream` holds.
   * `address` is that of an array that the stream fills. 1: the GPU waits. 0: TEMPI does not handle
   * the calls, or *error is a text from malloc. */
  int (*order_after_array)(const void* address, void* stream, char** error);
  /* As TEMPI_Startall_enqueue and TEMPI_Waitall_enqueue of include/tempi.h. */
  int (*start_enqueue)(int count, void* requests, void* stream);
  int (*wait_enqueue)(int count, void* requests, void* stream);
  /* Why a persistent request of the program (a pointer to it) has no channel; "": it has one. From malloc; null: TEMPI
   * does not receive the MPI calls. */
  char* (*why_no_channel)(const void* request);
  /* A datatype or an operation of 16-bit floats, which kernels may reduce. The caller must not free
   * it. `scalar`: "float16" or "bfloat16"; `name`: "SUM", "PROD", "MIN" or "MAX". */
  void (*note_float16_type)(const char* scalar, uint64_t datatype);
  void (*note_float16_operation)(const char* name, uint64_t operation);
  /* Streams of the fake device, which run late. Null on failure, and 0 on success. Stream 1 is the legacy default one,
   * and 2 that of the thread. A graph has the work that was queued in a stream while it was captured. */
  void* (*fake_stream_create)(int ordinal);
  void (*fake_stream_destroy)(void* stream);
  int (*fake_stream_copy)(void* dst, const void* src, size_t bytes, void* stream);
  int (*fake_stream_fill)(void* dst, int value, size_t bytes, void* stream);
  int (*fake_stream_synchronize)(void* stream);
  int (*fake_stream_fail)(void* stream);
  int (*fake_stream_begin_capture)(void* stream);
  void* (*fake_stream_end_capture)(void* stream); /* a graph */
  int (*fake_graph_launch)(void* graph, void* stream);
  void (*fake_graph_destroy)(void* graph);
} tempi_api_table;

/* libtempi.so exports this function, the MPI functions, dlsym, the functions of include/tempi.h, and tempi_mpix, which
 * finds the functions of include/tempi_mpix.h. */
__attribute__((visibility("default"))) const tempi_api_table* tempi_api(void);

#ifdef __cplusplus
}
#endif
#endif
