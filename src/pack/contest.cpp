#include "pack/contest.hpp"

namespace tempi::pack {
namespace {

// A few long calls are enough; short calls are frequent, and each is off by a few readings of the clock.
constexpr std::uint32_t kFewestCalls = 4, kMostCalls = 32;
constexpr std::int64_t kEnoughNs = 200'000;

// The library must be faster by more than the noise of clock and caches between two equal loops.
bool is_plainly_less(std::int64_t librarys_ns, std::int64_t ours_ns) { return librarys_ns * 33 < ours_ns * 32; }

}  // namespace

bool Contest::Score::has_enough() const noexcept {
  const std::uint32_t n = calls.load(std::memory_order_relaxed);
  return n >= kMostCalls || (n >= kFewestCalls && total_ns.load(std::memory_order_relaxed) >= kEnoughNs);
}

void Contest::record(Packer packer, std::int64_t nanoseconds) noexcept {
  Score& score = packer == Packer::ours ? ours_ : librarys_;
  score.calls.fetch_add(1, std::memory_order_relaxed);
  score.total_ns.fetch_add(nanoseconds, std::memory_order_relaxed);
  if (nanoseconds < score.least_ns.load(std::memory_order_relaxed))
    score.least_ns.store(nanoseconds, std::memory_order_relaxed);
  if (!ours_.has_enough() || !librarys_.has_enough()) return;
  const bool to_library = is_plainly_less(librarys_.least_ns.load(), ours_.least_ns.load());
  winner_.store(to_library ? Packer::librarys : Packer::ours, std::memory_order_relaxed);
}

}  // namespace tempi::pack
