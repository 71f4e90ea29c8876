#include "message/lent.hpp"

#include <ctime>
#include <mutex>
#include <unordered_map>

#include "base/error.hpp"
#include "base/log.hpp"
#include "mailbox/mailbox.hpp"
#include "message/reach.hpp"

namespace tempi::message {
namespace {

constexpr std::size_t kMostLent = 1024;  // a look at each takes 34 ns
constexpr std::int64_t kMilliseconds = 10;

struct Lent {
  device::Device* device;
  device::Location memory;

  bool is_freed() const {
    return device::current() != device || !device->is_still(memory, reinterpret_cast<const void*>(memory.begin));
  }
};

struct AllLent {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, Lent> by_id;
};

AllLent& lent() {
  static auto& all = *new AllLent;  // never destroyed: threads may use it while the process exits
  return all;
}

void tell_freed(std::uint64_t id) { mailbox::Mailbox::own().contents().freed.add(id); }

void tell_all_freed() {
  std::erase_if(lent().by_id, [](const auto& one) {
    const bool is_freed = one.second.is_freed();
    if (is_freed) tell_freed(one.first);
    return is_freed;
  });
}

// Whoever has mapped one that is left out ends its mapping: it may be lent again.
void make_room() {
  auto& by_id = lent().by_id;
  if (by_id.size() < kMostLent) return;
  tell_all_freed();
  if (by_id.size() < kMostLent) return;
  tell_freed(by_id.begin()->first);
  by_id.erase(by_id.begin());
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

void lend(device::Device& device, const device::Location& memory) noexcept try {
  const std::lock_guard lock(lent().mutex);
  if (lent().by_id.contains(memory.id)) return;
  make_room();
  lent().by_id.emplace(memory.id, Lent{&device, memory});
  shares_memory.store(true, std::memory_order_relaxed);
} catch (...) {
  warn_fallback("others may keep memory that this process frees", caught_error().what());
}

void look_after_shared_memory() noexcept {
  if (!is_due()) return;
  if (const std::unique_lock lock(lent().mutex, std::try_to_lock); lock) tell_all_freed();
  end_freed_mappings();
}

}  // namespace tempi::message
