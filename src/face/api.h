/* The C face of libtempi.so for the Python package: one table of functions, found with dlsym("tempi_api").
 * MPI handles travel as integers or pointers widened to uint64_t, so that one table serves every MPI ABI.
 * Functions that return text return a string from malloc that the caller frees. */
#ifndef TEMPI_API_H
#define TEMPI_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEMPI_API_VERSION 12

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
  const char* what;     /* "pack", "unpack"; between two ranks "message", "strided" (a whole message of the datatype),
                           "typed" (the same in host memory, by the shim's own calls) or "direct" (by them in GPU memory,
                           straight into the receiver's); "self": as "typed", of a rank to itself */
  const char* strategy; /* of a pack "device", "oneshot", "staged": of GPU memory; "host", "library": of host memory;
                           of a message "host" or "device"; of a strided one also "auto"; of a typed one "host" or
                           "library"; of a direct one "direct" */
  uint64_t datatype;    /* and count: the data; of a message its size counts alone */
  int64_t count;
  int64_t parts; /* of a staged pack the chunks (0: as many as the shim would make); else 0 */
  int peer;      /* rank in MPI_COMM_WORLD, for messages: both ranks call, the lower one's times count */
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
  size_t (*counters)(tempi_counter* rows, size_t capacity); /* returns how many there are */
  void (*reset_counters)(void);
  tempi_explanation (*explain)(uint64_t datatype, int64_t count);
  /* Memory of the fake device (TEMPI_DEVICE=fake): null on failure. kind: "device", "pinned", "managed". */
  void* (*fake_allocate)(const char* kind, int ordinal, size_t bytes);
  void (*fake_deallocate)(void* address);
  int (*fake_copy)(void* dst, const void* src,
                   size_t bytes);     /* any of the two may be fake device memory; 0 on success */
  uint64_t (*fake_unfinished)(void);  /* operations queued and not yet done */
  uint64_t (*comm_id)(uint64_t comm); /* the same on all members; 0: none (peer/ids.hpp) */
  /* Times a part of a message. Null, or the error text (from malloc); seconds has room for max_samples. */
  char* (*measure)(const tempi_measurement* what, double* seconds, size_t* n_samples);
  char* (*profile)(void); /* path of the profile that messages are predicted from, "" without one; from malloc */
  char* (*machine)(void); /* "key: value" lines, from malloc: what a profile is told by; MPI must be initialised */
  /* One element of a datatype that has data. Null, and an error text (from malloc), on failure. */
  tempi_trial* (*trial_open)(uint64_t datatype, int unpacks, char** error);
  /* Checks the bytes that launches with `values` (in the order of base/tuning.def) move, then times them. Null, or why
   * it could not, or that the bytes are wrong (from malloc); seconds has room for *n_samples. */
  char* (*trial_measure)(tempi_trial* trial, const uint32_t* values, double max_seconds, double* seconds,
                         size_t* n_samples);
  void (*trial_close)(tempi_trial* trial);
  /* Device memory of the GPU that owns `address`. Null if no GPU reaches it, or no memory is left. */
  void* (*allocate_beside)(const void* address, size_t bytes);
  void (*deallocate)(void* address);
  char* (*direct)(void); /* messages of GPU memory go direct: "yes: ...", "to oneself; ..." or "no: ..."; from malloc */
  /* 1: a kernel on the first GPU reaches memory of the other one. Ordinals of this process, which uses CUDA. */
  int (*reaches)(int ordinal, int other);
  int (*is_on_this_node)(int rank);      /* of MPI_COMM_WORLD; 0: no, or not known (peer/node.hpp) */
  void (*fake_end_context)(int ordinal); /* the cudaDeviceReset of the fake device */
  /* The stream of the calling thread, as TEMPI_Set_stream and TEMPI_Get_stream of include/tempi.h. */
  int (*set_stream)(void* stream);
  void* (*get_stream)(void);
  /* MPI calls of this thread on GPU memory come after what `stream` holds; `address` is of an array that it fills. 1:
   * the GPU waits; 0: TEMPI does not handle the calls. Else error is a text from malloc. */
  int (*order_after_array)(const void* address, void* stream, char** error);
  /* As TEMPI_Startall_enqueue and TEMPI_Waitall_enqueue of include/tempi.h. */
  int (*start_enqueue)(int count, void* requests, void* stream);
  int (*wait_enqueue)(int count, void* requests, void* stream);
  /* A datatype or an operation of 16-bit floats, which kernels may reduce; not to be freed. `scalar`: "float16" or
   * "bfloat16";
   * `name`: "SUM", "PROD", "MIN" or "MAX". */
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

/* Besides MPI's names, dlsym and those of include/tempi.h it is the only exported one. */
__attribute__((visibility("default"))) const tempi_api_table* tempi_api(void);

#ifdef __cplusplus
}
#endif
#endif
