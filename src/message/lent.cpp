#include "message/lent.hpp"

#include <algorithm>
#include <ctime>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/call_lock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "mailbox/mailbox.hpp"
#include "message/reach.hpp"

namespace tempi::message {
namespace {

constexpr std::size_t kMostLent = 1024;  // a look at each takes 34 ns
constexpr std::size_t kMostUntold = 256;
constexpr std::int64_t kMilliseconds = 10;

struct Lent {
  device::Device* device;
  device::Location memory;
};

struct AllLent {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, Lent> by_id{};
  std::vector<std::uint64_t> untold{};  // freed
  std::uint64_t untold_bytes = 0;
};

AllLent& lent() {
  static auto& all = *new AllLent;  // never destroyed: threads may use it while the process exits
  return all;
}

void tell_freed() {
  for (const std::uint64_t id : lent().untold) mailbox::Mailbox::own().contents().freed.add(id);
  lent().untold.clear();
  lent().untold_bytes = 0;
}

// Memory of a device that is gone is left to it.
void find_freed() {
  auto& [mutex, by_id, untold, untold_bytes] = lent();
  for (auto one = by_id.begin(); one != by_id.end();) {
    const auto& [id, memory] = *one;
    if (device::current() != memory.device || memory.device->exists(memory.memory)) {
      ++one;
      continue;
    }
    untold.push_back(id);
    untold_bytes += memory.memory.end - memory.memory.begin;
    one = by_id.erase(one);
  }
  static const auto limit = static_cast<std::uint64_t>(std::max<std::int64_t>(0, number(Option::FREED_LIMIT)));
  if (untold_bytes > limit || untold.size() > kMostUntold) tell_freed();
}

// The coarse clock of the kernel moves every few milliseconds, and is read in a few nanoseconds.
bool is_due() noexcept {
  static std::atomic<std::int64_t> next{0};
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const std::int64_t milliseconds = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  if (milliseconds < next.load(std::memory_order_relaxed)) return false;
  next.store(milliseconds + kMilliseconds, std::memory_order_relaxed);
  return true;
}

}  // namespace

bool lend(device::Device& device, const device::Location& memory) noexcept try {
  const CallLock lock(lent().mutex);
  auto& by_id = lent().by_id;
  if (by_id.contains(memory.id)) return true;
  if (by_id.size() >= kMostLent && is_due()) find_freed();
  if (by_id.size() >= kMostLent) return false;
  by_id.emplace(memory.id, Lent{&device, memory});
  shares_memory.store(true, std::memory_order_relaxed);
  return true;
} catch (...) {
  warn_fallback("messages from other processes come packed", caught_error().what());
  return false;
}

void look_after_shared_memory() noexcept try {
  if (!is_due()) return;
  if (const std::unique_lock lock(lent().mutex, std::try_to_lock); lock) find_freed();
  end_freed_mappings();
} catch (...) {
  warn_fallback("others may keep memory that this process has freed", caught_error().what());
}

}  // namespace tempi::message
