// The pending reductions of all communicators of this process. They go on in every MPI call that looks after pending
// sends: another member may wait for this one while it waits for something else.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "collective/pending_reduction.hpp"

namespace tempi::collective {

class PendingReductions {
 public:
  static PendingReductions& get();

  void add(std::shared_ptr<PendingReduction> begun);
  // The steps of each one that can be made now, and calls of the library in its turn.
  static void go_on() noexcept {
    if (n_.load(std::memory_order_acquire) != 0) get().go_on_with_all();
  }

 private:
  void go_on_with_all() noexcept;
  std::shared_ptr<PendingReduction> next_for_library() noexcept;
  void end_call(PendingReduction& called) noexcept;
  void advance_all() noexcept;

  inline static std::atomic<std::size_t> n_{0};
  Mutex<Lock::pending_reductions> mutex_;
  std::vector<std::shared_ptr<PendingReduction>> all_;  // in the order of their calls
};

}  // namespace tempi::collective
