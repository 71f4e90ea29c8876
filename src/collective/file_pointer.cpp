#include "collective/file_pointer.hpp"

#include <array>

#include "base/call_lock.hpp"

namespace tempi::collective {
namespace {

// Files share them.
std::array<std::shared_mutex, 64>& mutexes() {
  static auto& all = *new std::array<std::shared_mutex, 64>;  // never destroyed: threads may use files at exit
  return all;
}

thread_local int holds = 0;  // of this thread

std::shared_mutex* mutex_of(Handle file, PointerUse use) {
  const bool is_alone = use == PointerUse::none || !calls_may_overlap.load(std::memory_order_relaxed);
  return is_alone || holds > 0 ? nullptr : &mutexes()[key_of(file) * 0x9E3779B97F4A7C15U >> 58];
}

}  // namespace

PointerHold::PointerHold(Handle file, PointerUse use) : mutex_(mutex_of(file, use)), use_(use) {
  if (mutex_ == nullptr) return;
  ++holds;
  if (use_ == PointerUse::one_call) mutex_->lock_shared();
  else mutex_->lock();
}

PointerHold::~PointerHold() {
  if (mutex_ == nullptr) return;
  --holds;
  if (use_ == PointerUse::one_call) mutex_->unlock_shared();
  else mutex_->unlock();
}

}  // namespace tempi::collective
