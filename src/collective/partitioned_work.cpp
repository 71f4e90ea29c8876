#include "collective/partitioned_work.hpp"

#include <algorithm>
#include <mutex>

#include "collective/pending_work.hpp"

namespace tempi::collective {

PartitionedWork& PartitionedWork::get() {
  static auto& all = *new PartitionedWork;  // never destroyed: MPI calls may come while the process exits
  return all;
}

void PartitionedWork::note_pending(PartitionedRounds& rounds, const LibraryRound& owner) {
  {
    const std::lock_guard lock(mutex_);
    const auto is_it = [&](const Noted& one) { return one.rounds == &rounds; };
    if (std::none_of(all_.begin(), all_.end(), is_it)) all_.push_back({&rounds, owner.weak_from_this()});
    n_.store(all_.size(), std::memory_order_release);
  }
  begin_pending_work(is_left());
}

void PartitionedWork::forget(const PartitionedRounds& rounds) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [&](const Noted& one) { return one.rounds == &rounds; });
  n_.store(all_.size(), std::memory_order_release);
}

// Without the lock: a step may call the library, and the library an error handler of the program, which calls MPI.
void PartitionedWork::go_on_with_all() noexcept {
  n_go_on_.fetch_add(1, std::memory_order_relaxed);
  std::vector<std::pair<PartitionedRounds*, std::shared_ptr<const LibraryRound>>> taken;
  {
    const std::lock_guard lock(mutex_);
    for (const Noted& one : all_) taken.emplace_back(one.rounds, one.owner.lock());
  }
  for (const auto& [rounds, owner] : taken) {
    if (owner == nullptr) continue;
    rounds->go_on(true);
    if (rounds->is_pending()) continue;
    forget(*rounds);
    if (rounds->is_pending()) note_pending(*rounds, *owner);  // another thread has made partitions ready meanwhile
  }
  if (is_left()) begin_pending_work(true);
}

// With the lock, so that no rounds are destroyed meanwhile.
bool PartitionedWork::advance() noexcept {
  if (n_.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(get().mutex_);
  bool is_any = false;
  for (const Noted& one : get().all_) {
    if (!one.rounds->has_work_for_thread()) continue;
    one.rounds->go_on(false);
    is_any = is_any || !one.rounds->has_work_for_thread();
  }
  return is_any;
}

bool PartitionedWork::is_left() noexcept {
  if (n_.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(get().mutex_);
  return std::any_of(get().all_.begin(), get().all_.end(),
                     [](const Noted& one) { return one.rounds->has_work_for_thread(); });
}

}  // namespace tempi::collective
