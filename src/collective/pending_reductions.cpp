#include "collective/pending_reductions.hpp"

#include <algorithm>
#include <mutex>

#include "transfer/engine.hpp"

namespace tempi::collective {

PendingReductions& PendingReductions::get() {
  static auto& all = *new PendingReductions;  // never destroyed: MPI calls may come while the process exits
  return all;
}

void PendingReductions::add(std::shared_ptr<PendingReduction> begun) {
  message::collective_progress.store(&PendingReductions::go_on, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(begun));
    n_.store(all_.size(), std::memory_order_release);
  }
  go_on();
}

void PendingReductions::advance_all() noexcept {
  for (const auto& one : all_) one->advance();
  std::erase_if(all_, [](const auto& one) { return one->is_advanced(); });
  n_.store(all_.size(), std::memory_order_release);
}

// One, until end_call().
std::shared_ptr<PendingReduction> PendingReductions::next_for_library() noexcept {
  const std::lock_guard lock(mutex_);
  advance_all();
  const auto next = std::find_if(all_.begin(), all_.end(), [](const auto& one) { return one->may_call_library(); });
  if (next == all_.end()) return nullptr;
  (*next)->members().is_calling = true;
  return *next;
}

void PendingReductions::end_call(PendingReduction& called) noexcept {
  const std::lock_guard lock(mutex_);
  called.members().is_calling = false;
  ++called.members().n_called;
}

// The library is called without the lock: it may call an error handler of the program, which calls MPI.
void PendingReductions::go_on_with_all() noexcept {
  while (const std::shared_ptr<PendingReduction> next = next_for_library()) {
    next->call_library();
    end_call(*next);
  }
}

}  // namespace tempi::collective
