#include "segment/shared_boxes.hpp"

#include <algorithm>

namespace tempi::ipc {

std::optional<std::uint32_t> SharedBoxes::take(std::uint64_t layout, const std::vector<PublishedBox>& boxes) {
  if (const auto known = held_.find(layout); known != held_.end()) {
    ++known->second.n_users;
    return known->second.first;
  }
  const auto n = static_cast<std::uint32_t>(boxes.size());
  const std::uint32_t first = n <= room_.size() - end_ ? end_ : 0;
  if (n > room_.size() || !make_room(first, n)) return {};
  std::copy(boxes.begin(), boxes.end(), room_.begin() + first);
  end_ = first + n;
  held_[layout] = {first, n, 1};
  by_age_.push_back(layout);
  return first;
}

// Lists lie in the order of their age, once around: those in the way are the oldest.
bool SharedBoxes::make_room(std::uint32_t first, std::uint32_t n) {
  const bool wraps = first < end_;
  const auto is_in_the_way = [&](const Held& held) {
    const bool overlaps = held.first < first + n && first < held.first + held.n;
    return overlaps || (wraps && held.first >= end_);
  };
  while (!by_age_.empty()) {
    const Held& oldest = held_.at(by_age_.front());
    if (!is_in_the_way(oldest)) return true;
    if (oldest.n_users > 0) return false;
    held_.erase(by_age_.front());
    by_age_.pop_front();
  }
  return true;
}

void SharedBoxes::give_back(std::uint64_t layout) { --held_.at(layout).n_users; }

}  // namespace tempi::ipc
