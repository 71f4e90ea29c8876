// The pending reductions of all communicators of this process. The MPI calls that start pending sends also advance
// these reductions, and so does the progress thread (request/progress_thread.hpp): another member may wait for this
// process while its program computes, or while it waits in the library. Below MPI_THREAD_MULTIPLE, only MPI calls of
// the program can make the library calls that replace kernels. These calls are late if the program waits in a function
// of the library.
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
  // Makes the steps of each reduction that can be made now, and the library calls whose turn it is.
  static void go_on() noexcept {
    if (n_.load(std::memory_order_acquire) != 0) get().go_on_with_all();
  }

  // As the functions of CollectiveWork.
  static bool advance() noexcept;
  static bool is_left() noexcept;
  static std::uint64_t n_go_on() noexcept { return n_go_on_.load(std::memory_order_relaxed); }

 private:
  void go_on_with_all() noexcept;
  void call_library_in_turn() noexcept;
  std::shared_ptr<PendingReduction> next_for_library() noexcept;
  void end_call(PendingReduction& called) noexcept;
  bool advance_all() noexcept;

  inline static std::atomic<std::size_t> n_{0};
  inline static std::atomic<std::uint64_t> n_go_on_{0};
  Mutex<Lock::pending_reductions> mutex_;
  std::vector<std::shared_ptr<PendingReduction>> all_;  // in the order of their calls
};

}  // namespace tempi::collective
