#include "sharing/exports.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "base/call_lock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/options.hpp"
#include "base/wants_progress.hpp"
#include "base/yield_until.hpp"
#include "mpi/inside.hpp"
#include "mpi/progress.hpp"
#include "preload/driver_frees.hpp"
#include "segment/own_segment.hpp"
#include "sharing/imports.hpp"

namespace tempi::message {
namespace {

constexpr std::size_t kLookedAt = 256;  // at a time; each takes 34 ns
constexpr std::size_t kMostUntold = 256;
static_assert(kLookedAt + kMostUntold <= ipc::FreedMemory::kKept);
constexpr std::int64_t kMilliseconds = 10;
constexpr std::chrono::milliseconds kFreeWaits{100}, kFreeWaitsForGiB{10}, kHandOverWaits{200}, kPauseOfWaits{1000};

struct Export {
  device::Device* device;
  device::Location memory;
};

struct Exports {
  Mutex<Lock::exports> mutex;
  std::vector<Export> all{};
  std::size_t next = 0;  // to be looked at
  std::unordered_set<std::uint64_t> ids{};
  std::vector<device::Location> untold{};  // freed
  std::uint64_t untold_bytes = 0;
  std::vector<device::Location> told{};  // freed, and perhaps still mapped
};

Exports& exports() {
  static auto& the_exports = *new Exports;  // never destroyed: threads may use it while the process exits
  return the_exports;
}

// Negative: freed memory is never told.
std::int64_t freed_limit() {
  static const std::int64_t limit = number(Option::FREED_LIMIT);
  return limit;
}

bool is_mapped(const device::Location& freed) {
  return ipc::OwnSegment::own().segment().imports_of(freed.id).load(std::memory_order_acquire) != 0;
}

void tell_freed() {
  auto& [mutex, all, next, ids, untold, untold_bytes, told] = exports();
  std::erase_if(told, [](const device::Location& one) { return !is_mapped(one); });
  for (const device::Location& one : untold) {
    ipc::OwnSegment::own().segment().freed.add(one.id);
    if (is_mapped(one)) told.push_back(one);
  }
  untold.clear();
  untold_bytes = 0;
}

bool is_too_much() {
  return exports().untold_bytes > static_cast<std::uint64_t>(freed_limit()) || exports().untold.size() > kMostUntold;
}

// With no lock: other processes may be waiting for mappings of this process. False: some have not ended in time.
template <class GoOn>
bool wait_until_unmapped(const std::vector<device::Location>& freed, std::chrono::milliseconds lasts,
                         const GoOn& go_on) {
  const auto none_is_mapped = [&] { return std::none_of(freed.begin(), freed.end(), is_mapped); };
  return yield_until(std::chrono::steady_clock::now() + lasts, none_is_mapped, [&] {
    end_freed_mappings(IfLocked::skip);
    go_on();
  });
}

// With no lock.
void wake_importers() {
  ipc::OwnSegment::own().segment().importers.each([](std::int32_t rank) {
    ipc::Segment* const segment = ipc::find_peer_segment(ipc::own_job(), rank, true);
    if (segment != nullptr) segment->frees.wake();
  });
}

// Memory of a device that is gone is left to it.
bool is_freed(const Export& exported) {
  return device::current() == exported.device && !exported.device->exists(exported.memory);
}

void take_out(Export& freed) {
  Exports& of = exports();
  if (const auto revoke = revoke_freed.load()) revoke(freed.memory.id);
  of.untold.push_back(freed.memory);
  of.untold_bytes += freed.memory.end - freed.memory.begin;
  of.ids.erase(freed.memory.id);
  freed = of.all.back();
  of.all.pop_back();
}

// True: importers must be woken.
bool find_freed() {
  auto& [mutex, all, next, ids, untold, untold_bytes, told] = exports();
  for (std::size_t left = std::min(all.size(), kLookedAt); left > 0; --left) {
    if (next >= all.size()) next = 0;
    if (is_freed(all[next])) take_out(all[next]);
    else ++next;
  }
  const bool is_told = is_too_much();
  if (is_told) tell_freed();
  return is_told;
}

bool find_match(const device::Location& one, const device::Location& other) {
  return RemoteRange{nullptr, nullptr, one.begin, one.end}.touches({nullptr, nullptr, other.begin, other.end});
}

// Freed memory at the place of `memory`, told now at the latest.
std::vector<device::Location> tell_freed_at(const device::Location& memory) {
  const CallLock lock(exports().mutex);
  auto& all = exports().all;
  for (std::size_t i = 0; i < all.size();) {
    if (all[i].memory.id != memory.id && find_match(all[i].memory, memory) && is_freed(all[i])) take_out(all[i]);
    else ++i;
  }
  tell_freed();
  std::vector<device::Location> found;
  std::copy_if(exports().told.begin(), exports().told.end(), std::back_inserter(found),
               [&](const device::Location& one) { return find_match(one, memory); });
  return found;
}

// Freed memory that is told and still mapped: what is told now, and what a call of another thread has found at this
// address before.
std::vector<device::Location> tell_freed_by_call(std::uint64_t address) {
  const CallLock lock(exports().mutex);
  auto& [mutex, all, next, ids, untold, untold_bytes, told] = exports();
  for (std::size_t i = 0; i < all.size();) {
    if (all[i].memory.begin == address && is_freed(all[i])) take_out(all[i]);
    else ++i;
  }
  std::vector<device::Location> found;
  std::copy_if(told.begin(), told.end(), std::back_inserter(found),
               [&](const device::Location& one) { return one.begin == address; });
  if (is_too_much()) {
    found.insert(found.end(), untold.begin(), untold.end());
    tell_freed();
  }
  std::erase_if(found, [](const device::Location& one) { return !is_mapped(one); });
  return found;
}

// The end of a mapping in pages of 4 KiB takes 2.7 ms for 1 GiB on an H200.
std::chrono::milliseconds free_waits(const std::vector<device::Location>& freed) {
  std::uint64_t bytes = 0;
  for (const device::Location& one : freed) bytes += one.end - one.begin;
  return kFreeWaits + kFreeWaitsForGiB * (bytes >> 30);
}

// The program has freed memory, in a call that passes TEMPI. A thread or a call that cannot take the locks leaves the
// search to the next MPI call. After a wait in vain, such as for a process that has ended, calls do not wait for one
// second.
void after_free(unsigned long long address) noexcept try {
  using Clock = std::chrono::steady_clock;
  static std::atomic<Clock::time_point> waits_from{};
  if (Inside::is_in_entry() || !may_take_call_locks() || !ipc::has_segment()) return;
  const std::vector<device::Location> freed = tell_freed_by_call(address);
  if (freed.empty()) return;
  wake_importers();
  if (Clock::now() < waits_from.load()) return;
  if (!wait_until_unmapped(freed, free_waits(freed), [] {})) waits_from.store(Clock::now() + kPauseOfWaits);
} catch (...) {
  warn_fallback("other processes may keep imports of freed memory", caught_error().what());
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

void export_memory(device::Device& device, const device::Location& memory) {
  if (freed_limit() < 0) return;
  const CallLock lock(exports().mutex);
  if (exports().ids.contains(memory.id)) return;
  exports().all.push_back({&device, memory});
  exports().ids.insert(memory.id);
  tempi_after_free.store(after_free, std::memory_order_release);
  wants_progress.store(true, std::memory_order_relaxed);
}

void hand_over(const device::Location& memory) noexcept try {
  if (!wants_progress.load(std::memory_order_relaxed)) return;
  const std::vector<device::Location> freed = tell_freed_at(memory);
  if (freed.empty()) return;
  wake_importers();
  if (!wait_until_unmapped(freed, kHandOverWaits, let_library_go_on))
    warn_once("handed", "the MPI library gets GPU memory at an address where other processes may import freed memory");
} catch (...) {
  warn_fallback("other processes may keep imports of freed memory", caught_error().what());
}

void look_after_shared_memory() noexcept try {
  if (!is_due()) return;
  bool is_told = false;
  if (const std::unique_lock lock(exports().mutex, std::try_to_lock); lock) is_told = find_freed();
  if (is_told) wake_importers();
  end_freed_mappings(IfLocked::skip);
} catch (...) {
  warn_fallback("other processes may keep imports of freed memory", caught_error().what());
}

}  // namespace tempi::message
