/* The state of a process when the library's MPI_Init is done, and when the shim's is. Needs _GNU_SOURCE. */
#include <malloc.h>
#include <stddef.h>
#include <time.h>

struct StartUp {
  size_t bytes;
  double microseconds;
};

extern struct StartUp start_up; /* when the library's is done */

static inline struct StartUp start_up_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const struct mallinfo2 memory = mallinfo2();
  return (struct StartUp){memory.uordblks + memory.hblkhd, now.tv_sec * 1e6 + now.tv_nsec * 1e-3};
}
