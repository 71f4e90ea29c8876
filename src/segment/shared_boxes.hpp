// The box lists of layouts in a shared segment. Published receives with the same layout share one list. Lists that no
// published receive uses are replaced when a new list needs room.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "segment/segment.hpp"

namespace tempi::ipc {

// Not thread-safe: the shared segment calls it under its mutex.
class SharedBoxes {
 public:
  explicit SharedBoxes(std::span<PublishedBox> room) : room_(room) {}

  // The place of the list of a layout. The list stays there until give_back() was called as often as take(). Nothing:
  // there is no room.
  std::optional<std::uint32_t> take(std::uint64_t layout, const std::vector<PublishedBox>& boxes);
  void give_back(std::uint64_t layout);

 private:
  struct Held {
    std::uint32_t first, n;
    int n_users;
  };
  // False: a list in use is in the way.
  bool make_room(std::uint32_t first, std::uint32_t n);

  std::span<PublishedBox> room_;  // used round and round
  std::uint32_t end_ = 0;         // of the newest list
  std::unordered_map<std::uint64_t, Held> held_;
  std::deque<std::uint64_t> by_age_;  // the layouts in held_, oldest first
};

}  // namespace tempi::ipc
