// Allocations of this process that another process of the node cannot map. Receives from that process into these
// allocations are not published again.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_set>

#include "base/call_lock.hpp"
#include "base/mutex.hpp"

namespace tempi::message {

class NotImportable {
 public:
  static NotImportable& own() {
    static auto& all = *new NotImportable;  // never destroyed: receives end while the process exits
    return all;
  }

  // `rank` is of MPI_COMM_WORLD, `memory` a Location::id.
  bool contains(int rank, std::uint64_t memory) {
    if (!any_.load(std::memory_order_relaxed)) return false;
    const CallLock lock(mutex_);
    return all_.contains(key_of(rank, memory));
  }
  void add(int rank, std::uint64_t memory) {
    if (memory == 0) return;  // not known
    const CallLock lock(mutex_);
    if (all_.size() >= kMost) all_.clear();
    all_.insert(key_of(rank, memory));
    any_.store(true, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kMost = 4096;
  static std::uint64_t key_of(int rank, std::uint64_t memory) {
    return memory << 24 ^ static_cast<std::uint64_t>(rank);
  }

  Mutex<Lock::not_importable> mutex_{};
  std::unordered_set<std::uint64_t> all_{};
  std::atomic<bool> any_{false};
};

}  // namespace tempi::message
