// A lock for data that only MPI calls access, and frees of GPU memory (sharing/exports.cpp) in a thread that may call
// MPI at this moment. Below MPI_THREAD_MULTIPLE, a program makes one MPI call at a time, so the lock does nothing.
// (Real locks take a quarter of the CPU time of a message between GPUs.)
#pragma once

#include <atomic>
#include <thread>

#include "base/mutex.hpp"

namespace tempi {

inline std::atomic<bool> calls_may_overlap{true};  // until MPI says otherwise
// The only thread that makes MPI calls: at MPI_THREAD_SINGLE and MPI_THREAD_FUNNELED.
inline std::atomic<std::thread::id> calling_thread{};

// True: this thread may take a CallLock, though it is in no MPI call.
inline bool may_take_call_locks() noexcept {
  return calls_may_overlap.load(std::memory_order_relaxed) ||
         calling_thread.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

template <class Mutex>
class CallLock {
  static_assert(taken(Mutex::kLock) != Taken::always, "base/lock_order.def does not name it as a lock of MPI calls");

 public:
  explicit CallLock(Mutex& mutex) : mutex_(calls_may_overlap.load(std::memory_order_relaxed) ? &mutex : nullptr) {
    if (mutex_ != nullptr) mutex_->lock();
  }
  ~CallLock() {
    if (mutex_ != nullptr) mutex_->unlock();
  }
  CallLock(const CallLock&) = delete;
  CallLock& operator=(const CallLock&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace tempi
