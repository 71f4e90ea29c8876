/* Memory for Fortran programs: the fake device's where TESTS_FORTRAN_KIND names a kind of it, else malloc's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "face/api.h"

static const tempi_api_table* tempi(void) {
  const tempi_api_table* (*table)(void) = (const tempi_api_table* (*)(void))dlsym(RTLD_DEFAULT, "tempi_api");
  return table && getenv("TESTS_FORTRAN_KIND") ? table() : NULL;
}

void* test_allocate(size_t bytes) {
  return tempi() ? tempi()->fake_allocate(getenv("TESTS_FORTRAN_KIND"), 0, bytes) : malloc(bytes);
}

void test_synchronize(void* stream) {
  if (tempi()) tempi()->fake_stream_synchronize(stream);
}

void test_copy(void* to, const void* from, size_t bytes) {
  if (tempi()) {
    tempi()->fake_copy(to, from, bytes);
  } else {
    memcpy(to, from, bytes);
  }
}
