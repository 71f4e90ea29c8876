// A lock of data that only calls of MPI look at. Programs below MPI_THREAD_MULTIPLE make one call at a time: there is
// nothing to lock then. (Of a message between GPUs, the locks took a quarter of its CPU time.)
#pragma once

#include <atomic>

namespace tempi {

inline std::atomic<bool> calls_may_overlap{true};  // until MPI says otherwise

template <class Mutex>
class CallLock {
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
