#include "collective/file_pointer.hpp"

#include <array>

#include "base/call_lock.hpp"

namespace tempi::collective {
namespace {

using PointerMutex = Mutex<Lock::file_pointers>;

// Files share them.
std::array<PointerMutex, 64>& mutexes() {
  static auto& all = *new std::array<PointerMutex, 64>;  // never destroyed: threads may use files at exit
  return all;
}

thread_local int holds = 0;  // of this thread

PointerMutex* mutex_of(Handle file, bool uses) {
  const bool is_alone = !uses || !calls_may_overlap.load(std::memory_order_relaxed);
  return is_alone || holds > 0 ? nullptr : &mutexes()[key_of(file) * 0x9E3779B97F4A7C15U >> 58];
}

}  // namespace

PointerHold::PointerHold(Handle file, bool uses) : mutex_(mutex_of(file, uses)) {
  if (mutex_ == nullptr) return;
  ++holds;
  mutex_->lock();
}

PointerHold::~PointerHold() {
  if (mutex_ == nullptr) return;
  --holds;
  mutex_->unlock();
}

}  // namespace tempi::collective
