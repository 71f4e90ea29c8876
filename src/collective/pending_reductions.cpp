#include "collective/pending_reductions.hpp"

#include <algorithm>
#include <mutex>

#include "collective/pending_work.hpp"
#include "request/progress_mode.hpp"

namespace tempi::collective {

PendingReductions& PendingReductions::get() {
  static auto& all = *new PendingReductions;  // never destroyed: MPI calls may come while the process exits
  return all;
}

void PendingReductions::add(std::shared_ptr<PendingReduction> begun) {
  begin_pending_work(false);
  {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(begun));
    n_.store(all_.size(), std::memory_order_release);
  }
  go_on();
  if (is_left()) begin_pending_work(true);
}

// True: a step was made.
bool PendingReductions::advance_all() noexcept {
  bool is_any = false;
  for (const auto& one : all_) is_any = one->advance() || is_any;
  std::erase_if(all_, [](const auto& one) { return one->is_advanced(); });
  n_.store(all_.size(), std::memory_order_release);
  return is_any;
}

bool PendingReductions::advance() noexcept {
  if (n_.load(std::memory_order_acquire) == 0) return false;
  bool is_any = false;
  {
    const std::lock_guard lock(get().mutex_);
    is_any = get().advance_all();
  }
  if (message::progress_mode() == message::ProgressMode::thread) get().call_library_in_turn();
  return is_any;
}

bool PendingReductions::is_left() noexcept {
  if (n_.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(get().mutex_);
  const auto& all = get().all_;
  return std::any_of(all.begin(), all.end(), [](const auto& one) { return !one->needs_library(); });
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

void PendingReductions::go_on_with_all() noexcept {
  n_go_on_.fetch_add(1, std::memory_order_relaxed);
  call_library_in_turn();
}

// The library is called without the lock: it may call an error handler of the program, which calls MPI.
void PendingReductions::call_library_in_turn() noexcept {
  while (const std::shared_ptr<PendingReduction> next = next_for_library()) {
    next->call_library();
    end_call(*next);
  }
}

}  // namespace tempi::collective
