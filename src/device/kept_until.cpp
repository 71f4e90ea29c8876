#include "device/kept_until.hpp"

#include <algorithm>
#include <mutex>

namespace tempi::device {
namespace {

bool is_done(const MarkPtr& mark) noexcept try { return mark->reached(); } catch (...) {
  return true;  // failed work is not running either
}

}  // namespace

std::deque<std::pair<MarkPtr, KeptUntil::Kept>> KeptUntil::taken_done() {
  std::deque<std::pair<MarkPtr, Kept>> done;
  while (!all_.empty() && is_done(all_.front().first)) {
    done.push_back(std::move(all_.front()));
    all_.pop_front();
  }
  return done;
}

// Objects are destroyed without the lock: they have locks of their own.
void KeptUntil::keep(MarkPtr mark, Kept one) {
  std::deque<std::pair<MarkPtr, Kept>> done;
  const std::lock_guard lock(mutex_);
  done = taken_done();
  all_.emplace_back(std::move(mark), std::move(one));
}

void KeptUntil::keep_for_ever(Kept one) {
  const std::lock_guard lock(mutex_);
  if (std::find(for_ever_.begin(), for_ever_.end(), one) == for_ever_.end()) for_ever_.push_back(std::move(one));
}

}  // namespace tempi::device
