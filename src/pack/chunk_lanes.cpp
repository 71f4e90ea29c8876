#include "pack/chunk_lanes.hpp"

namespace tempi::pack {

using device::Scope;

device::MarkPtr ChunkLanes::queue(FunctionRef<void(const Scope&)> queue_kernel) {
  const bool has_changed_thread = user_ != std::this_thread::get_id();  // each has lanes of its own
  const Scope here(device_, context_, device::kLanes[next_]);
  device::MarkPtr& last = last_[next_];
  if (last) static_cast<void>(last->reached());  // throws if that one has failed: the mark behind this one hides it
  try {
    for (const device::MarkPtr& before : last_) {
      if (has_changed_thread && before) here.wait_for(*before);
    }
    queue_kernel(here);
    last = here.mark();
  } catch (...) {
    here.settle();
    throw;
  }
  user_ = std::this_thread::get_id();
  next_ = (next_ + 1) % last_.size();
  return last;
}

device::MarkPtr ChunkLanes::join() {
  const Scope here(device_, context_);
  for (const device::MarkPtr& last : last_) {
    if (last) here.wait_for(*last);
  }
  return here.mark();
}

void ChunkLanes::wait() noexcept {
  for (const device::MarkPtr& last : last_) {
    try {
      if (last && !last->reached()) last->wait();
    } catch (...) {  // failed work is not running either
    }
  }
}

}  // namespace tempi::pack
