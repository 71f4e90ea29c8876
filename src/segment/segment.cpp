#include "segment/segment.hpp"

#include <algorithm>

namespace tempi::ipc {

MatchQueue* Segment::find(const MatchKey& key) {
  for (std::size_t at = first_match_queue(key), n = 0; n < kMatchQueues; ++at, ++n) {
    MatchQueue& match_queue = match_queues[at % kMatchQueues];
    const MatchKey found = match_queue.key();
    if (found == key) return &match_queue;
    if (found.comm == 0) return nullptr;
  }
  return nullptr;
}

// Ended match queues that no match queue is behind are as if never used: else their number would grow with that of the
// communicators, until no receive got one. Twice round, as the last match queues are before the first.
void Segment::end_match_queues(std::uint64_t comm) {
  bool has_ended = false;
  for (MatchQueue& match_queue : match_queues) {
    if (match_queue.comm.load() != comm) continue;
    match_queue.comm.store(kEnded, std::memory_order_release);
    has_ended = true;
  }
  if (!has_ended) return;
  for (std::size_t at = 2 * kMatchQueues; at-- > 0;) {
    MatchQueue& match_queue = match_queues[at % kMatchQueues];
    if (match_queue.comm.load() != kEnded || match_queues[(at + 1) % kMatchQueues].comm.load() != 0) continue;
    match_queue.comm.store(0, std::memory_order_release);
    n_match_queues.fetch_sub(1, std::memory_order_release);
  }
}

Board* Segment::find_board(std::uint64_t comm) {
  const auto found =
      std::find_if(boards.begin(), boards.end(), [&](const Board& one) { return one.comm.load() == comm; });
  return found != boards.end() ? &*found : nullptr;
}

WindowBoard* Segment::find_window(std::uint64_t id) {
  const auto found = std::find_if(windows.begin(), windows.end(),
                                  [&](const WindowBoard& one) { return one.id.load(std::memory_order_acquire) == id; });
  return found != windows.end() ? &*found : nullptr;
}

std::optional<AttachedRange> Segment::find_attached(std::uint64_t window, std::uint64_t begin,
                                                    std::uint64_t end) const {
  const std::uint32_t n = n_attached.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < n; ++i) {
    std::optional<AttachedRange> range = attached[i].of(window);
    if (range && range->overlaps(begin, end)) return range;
  }
  return {};
}

bool Segment::is_closed(std::uint64_t comm, std::int32_t tag) const {
  if (is_shut.load(std::memory_order_acquire) != 0) return true;
  const std::uint64_t of_tag = closed_key(comm, tag);
  return std::any_of(closed.begin(), closed.end(), [&](const auto& one) {
    const std::uint64_t key = one.load(std::memory_order_relaxed);
    return key == comm || key == of_tag;
  });
}

}  // namespace tempi::ipc
