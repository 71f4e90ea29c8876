#include "mailbox/contents.hpp"

#include <algorithm>

namespace tempi::mailbox {

Line* Contents::find(const LineKey& key) {
  for (std::size_t at = first_line(key), n = 0; n < kLines; ++at, ++n) {
    Line& line = lines[at % kLines];
    const LineKey found = line.key();
    if (found == key) return &line;
    if (found.comm == 0) return nullptr;
  }
  return nullptr;
}

// Ended lines that no line is behind are as if never used: else their number would grow with that of the communicators,
// until no receive got one. Twice round, as the last lines are before the first.
void Contents::end_lines(std::uint64_t comm) {
  bool has_ended = false;
  for (Line& line : lines) {
    if (line.comm.load() != comm) continue;
    line.comm.store(kEnded, std::memory_order_release);
    has_ended = true;
  }
  if (!has_ended) return;
  for (std::size_t at = 2 * kLines; at-- > 0;) {
    Line& line = lines[at % kLines];
    if (line.comm.load() != kEnded || lines[(at + 1) % kLines].comm.load() != 0) continue;
    line.comm.store(0, std::memory_order_release);
    n_lines.fetch_sub(1, std::memory_order_release);
  }
}

Poll* Contents::find_poll(std::uint64_t comm) {
  const auto found = std::find_if(polls.begin(), polls.end(), [&](const Poll& one) { return one.comm.load() == comm; });
  return found != polls.end() ? &*found : nullptr;
}

bool Contents::is_closed(std::uint64_t comm, std::int32_t tag) const {
  if (is_shut.load(std::memory_order_acquire) != 0) return true;
  const std::uint64_t of_tag = closed_key(comm, tag);
  return std::any_of(closed.begin(), closed.end(), [&](const auto& one) {
    const std::uint64_t key = one.load(std::memory_order_relaxed);
    return key == comm || key == of_tag;
  });
}

}  // namespace tempi::mailbox
