// The nonblocking accesses of files in chunks that are pending.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "collective/later_access.hpp"

namespace tempi::collective {

class PendingFiles {
 public:
  static PendingFiles& get();

  void add(std::shared_ptr<LaterAccess> begun);

  // As the functions of CollectiveWork.
  static void go_on() noexcept {
    if (n_.load(std::memory_order_acquire) != 0) get().go_on_with_all();
  }
  static bool advance() noexcept;
  static bool is_left() noexcept;
  static std::uint64_t n_go_on() noexcept { return n_go_on_.load(std::memory_order_relaxed); }

 private:
  bool make_steps() noexcept;  // true: a step was made
  void go_on_with_all() noexcept;

  inline static std::atomic<std::size_t> n_{0};
  inline static std::atomic<std::uint64_t> n_go_on_{0};
  Mutex<Lock::pending_files> mutex_;
  std::vector<std::shared_ptr<LaterAccess>> all_;
};

}  // namespace tempi::collective
