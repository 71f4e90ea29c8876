/* Common to the programs of this folder: checks, and messages of one rank to itself in memory of any kind. */
#ifndef STRICT_H
#define STRICT_H
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "face/api.h"

enum { INTS = 16, STRIDE = 3, SPAN = INTS * STRIDE, GUARD = 64, WHOLE = SPAN + 2 * GUARD };

/* Open MPI 5 has the functions of MPI 4 and calls itself 3.1. */
#if defined(OMPI_MAJOR_VERSION)
#define HAS_MPI_4 (OMPI_MAJOR_VERSION >= 5)
#else
#define HAS_MPI_4 (MPI_VERSION >= 4)
#endif

#define CHECK(is_so, ...)                                \
  do {                                                   \
    if (!(is_so)) {                                      \
      printf("%s:%d: %s: ", __FILE__, __LINE__, #is_so); \
      printf(__VA_ARGS__);                               \
      printf("\n");                                      \
      fflush(stdout);                                    \
      _exit(1);                                          \
    }                                                    \
  } while (0)

static const char* kind = "host";     /* of the buffers: "host", or a kind of the fake device's memory */
static MPI_Datatype vector, loose;    /* INTS ints with gaps; the same, not committed */
static int calls_of_handler, handled; /* how often a handler was called, and the class of the last error */

static const tempi_api_table* tempi(void) {
  const tempi_api_table* (*table)(void) = (const tempi_api_table* (*)(void))dlsym(RTLD_DEFAULT, "tempi_api");
  return table != NULL && strcmp(kind, "host") != 0 ? table() : NULL;
}

static void copy(void* to, const void* from, size_t bytes) {
  if (tempi() != NULL) tempi()->fake_copy(to, from, bytes);
  else memcpy(to, from, bytes);
}

static void* allocated(size_t bytes) {
  return tempi() != NULL ? tempi()->fake_allocate(kind, 0, bytes) : calloc(1, bytes);
}

/* A buffer between guards, every int of it `value`. */
static int* buffer_of(int value) {
  int before[WHOLE];
  int* whole = allocated(sizeof before);
  for (int i = 0; i < WHOLE; ++i) before[i] = value;
  copy(whole, before, sizeof before);
  return whole + GUARD;
}

/* True if the first n ints of the vector are `value`, and all others still `before`. */
static int holds(const int* buffer, int n, int value, int before) {
  int found[WHOLE];
  copy(found, buffer - GUARD, sizeof found);
  for (int i = 0; i < WHOLE; ++i) {
    const int at = i - GUARD, is_data = at >= 0 && at < SPAN && at % STRIDE == 0 && at / STRIDE < n;
    if (found[i] != (is_data ? value : before)) return 0;
  }
  return 1;
}

static void make_types(void) {
  MPI_Type_vector(INTS, 1, STRIDE, MPI_INT, &vector);
  MPI_Type_commit(&vector);
  MPI_Type_vector(INTS, 1, STRIDE + 1, MPI_INT, &loose);
}

static int class_of(int code) {
  int its_class = code;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &its_class);
  return its_class;
}

/* An error handler that returns. */
static void return_handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++calls_of_handler;
  handled = class_of(*code);
}

static void set_handler(MPI_Comm comm, MPI_Comm_errhandler_function* handler) {
  MPI_Errhandler made;
  MPI_Comm_create_errhandler(handler, &made);
  MPI_Comm_set_errhandler(comm, made);
  MPI_Errhandler_free(&made);
}

static int is_open_mpi(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  return strstr(version, "Open MPI") != NULL;
}

#endif
