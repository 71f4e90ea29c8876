// Objects that queued work uses, and that may have no other owner. They are kept until a mark after the work is
// reached.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "device/device.hpp"

namespace tempi::device {

class KeptUntil {
 public:
  using Kept = std::shared_ptr<const void>;

  // Releases the objects whose work is complete, in the order in which they were added.
  void keep(MarkPtr mark, Kept one);
  // For work of a captured graph, which may be launched until the process ends.
  void keep_for_ever(Kept one);

 private:
  std::deque<std::pair<MarkPtr, Kept>> taken_done();

  Mutex<Lock::kept_until> mutex_;
  std::deque<std::pair<MarkPtr, Kept>> all_;
  std::vector<Kept> for_ever_;
};

}  // namespace tempi::device
