// Threads of TEMPI. They block all signals, because the signals are for the program's threads.
#pragma once

#include <csignal>
#include <pthread.h>

namespace tempi::message {

// An error number, or 0.
inline int create_own_thread(pthread_t& thread, void* (*run)(void*)) noexcept {
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before);
  const int error = pthread_create(&thread, nullptr, run, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace tempi::message
