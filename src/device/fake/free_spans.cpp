#include "device/fake/free_spans.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"

namespace tempi::device {

// First fit: freed memory is soon used again, so that stale addresses are found out.
std::uintptr_t FreeSpans::take(std::size_t bytes) {
  const auto fits = std::find_if(all_.begin(), all_.end(), [&](const auto& span) { return span.second >= bytes; });
  if (fits == all_.end()) throw Error(ErrorKind::no_memory, "fake device: out of memory");
  const auto [begin, free_bytes] = *fits;
  all_.erase(fits);
  if (free_bytes > bytes) all_[begin + bytes] = free_bytes - bytes;
  return begin;
}

void FreeSpans::give(std::uintptr_t begin, std::size_t bytes) {
  const auto after = all_.lower_bound(begin);
  if (after != all_.end() && after->first == begin + bytes) {
    bytes += after->second;
    all_.erase(after);
  }
  const auto next = all_.lower_bound(begin);
  if (next != all_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      before->second += bytes;
      return;
    }
  }
  all_[begin] = bytes;
}

}  // namespace tempi::device
