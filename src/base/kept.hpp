// A cache: a ring of the values that were made last.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "base/call_lock.hpp"
#include "base/mutex.hpp"

namespace tempi {

// Used in MPI calls. Programs repeat their calls in order, so the search begins after the last value found. `Ptr`: a
// shared_ptr, as a value may be dropped while it is in use.
template <class Ptr, std::size_t kMost>
class Kept {
 public:
  // Returns the value for which is_it(value) is true. If there is none, keeps and returns make().
  template <class Is, class Make>
  Ptr get(const Is& is_it, const Make& make) {
    const CallLock lock(mutex_);
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      const std::size_t at = (next_ + k) % kept_.size();
      if (!is_it(kept_[at])) continue;
      next_ = at + 1;
      return kept_[at];
    }
    return keep(make());
  }

 private:
  const Ptr& keep(Ptr fresh) {
    if (kept_.size() < kMost) return kept_.emplace_back(std::move(fresh));
    oldest_ = (oldest_ + 1) % kMost;
    return kept_[oldest_] = std::move(fresh);
  }

  Mutex<Lock::kept> mutex_;
  std::vector<Ptr> kept_;
  std::size_t next_ = 0, oldest_ = kMost - 1;
};

}  // namespace tempi
