#include "segment/arrivals.hpp"

#include <algorithm>

namespace tempi::ipc {

std::optional<std::uint32_t> TakenArrivals::take(Arrivals& all, std::uint32_t n) {
  std::uint32_t first = 0;
  for (const auto& [begin, end] : taken_) {
    if (begin - first >= n) break;
    first = end;
  }
  if (n == 0 || n > kArrivals - first) return {};
  taken_[first] = first + n;
  std::for_each_n(all.begin() + first, n, [](auto& word) { word.store(0, std::memory_order_relaxed); });
  return first;
}

}  // namespace tempi::ipc
