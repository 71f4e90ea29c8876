/* Threads that do the same work at the same time, each of which is told its number, and what became of it. */
#pragma once

#include <mpi.h>
#include <pthread.h>

enum { THREADS = 4 };

static const char* run_threads(int provided, void* (*work)(void*), const int* wrong) {
  pthread_t threads[THREADS];
  if (provided < MPI_THREAD_MULTIPLE) return "no threads";
  for (size_t i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  return *wrong ? "wrong bytes" : "ok";
}
