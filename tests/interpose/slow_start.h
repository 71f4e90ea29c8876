/* A tool in which one MPI_Start of a round is held until the program says go on. */
#ifndef SLOW_START_H
#define SLOW_START_H
#include <semaphore.h>
#include <stdatomic.h>

struct SlowStart {
  sem_t entered, go_on;
  atomic_int starts_left; /* the last of so many is held */
  atomic_int is_inside;
};

#endif
