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

#define TEMPI_API_VERSION 4

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
} tempi_counter;

typedef struct tempi_explanation { /* all text from malloc */
  char* error;                     /* null when the datatype could be explained; then all others are null */
  char* as_built;
  char* canonical;
  char* boxes;
  char* plan;
} tempi_explanation;

typedef struct tempi_measurement {
  const char* what;     /* "launch", "pack", "unpack", "message" or "strided" (a whole message of a vector) */
  const char* strategy; /* "device", "oneshot", "staged": of GPU memory; "host", "library": of host memory;
                           of a message "host" or "device"; of a strided one also "auto" */
  int64_t n_blocks, block, stride; /* a vector; bytes; stride == block: contiguous */
  int peer; /* rank in MPI_COMM_WORLD, for messages: both ranks call, the lower one's times count */
  double max_seconds;
  size_t max_samples;
} tempi_measurement;

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
                   size_t bytes);    /* any of the two may be fake device memory; 0 on success */
  uint64_t (*fake_unfinished)(void); /* operations queued and not yet done */
  /* Times a part of a message. Null, or why it could not (from malloc); seconds has room for max_samples. */
  char* (*measure)(const tempi_measurement* what, double* seconds, size_t* n_samples);
  char* (*machine)(void); /* "key: value" lines, from malloc: what a profile is told by; MPI must be initialised */
  /* Device memory of the GPU that `address` is memory of. Null where no GPU reaches it, or no memory is left. */
  void* (*allocate_beside)(const void* address, size_t bytes);
  void (*deallocate)(void* address);
} tempi_api_table;

/* The one exported name that is not MPI's. */
__attribute__((visibility("default"))) const tempi_api_table* tempi_api(void);

#ifdef __cplusplus
}
#endif
#endif
