#include "sharing/imports.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/wants_progress.hpp"
#include "segment/own_segment.hpp"
#include "sharing/exports.hpp"
#include "sharing/unmapping.hpp"

namespace tempi::message {
namespace {

using Clock = std::chrono::steady_clock;

// Until the driver is asked again for what it has refused: an attempt takes milliseconds.
using Pause = std::chrono::seconds;
constexpr Pause kFirstPause{1}, kLongestPause{64};

struct Mapped {
  RemoteRange range;
  std::uint64_t id;         // of the allocation, in its process
  ImportPtr imported;       // null: refused, until the pause is over
  bool is_refused;          // for good, as far as the driver tells
  Clock::time_point since;  // when the driver was asked
  Pause pause;              // if refused: until the driver is asked again
};

constexpr std::size_t kMostMapped = 256;

struct AllMapped {
  Mutex<Lock::imports> mutex;
  std::deque<Mapped> all;  // newest first
  std::unordered_map<const ipc::Segment*, std::uint64_t> n_freed_seen;
};

AllMapped& mapped() {
  static auto& the_mapped = *new AllMapped;
  return the_mapped;
}

template <class Fn>
void end_if(const Fn& is_one) noexcept {
  std::erase_if(mapped().all, is_one);
}

// The driver imports the memory of a process into one context of a GPU only.
bool is_in_another_context(const RemoteRange& range) {
  const auto is_there = [&](const Mapped& one) {
    return one.imported != nullptr && one.range.owner == range.owner && one.range.context != range.context;
  };
  return std::any_of(mapped().all.begin(), mapped().all.end(), is_there);
}

// Nothing: it is mapped. A mapping of freed memory that somebody else has made there (UCX, NCCL, PyTorch) is no error.
std::optional<ErrorKind> map(device::Device& device, const RemoteRange& range,
                             const device::SharedAllocation& allocation, ImportPtr& imported) noexcept try {
  imported = {new Import(device, range, allocation), end_later};
  return {};
} catch (...) {
  const Error error = caught_error();
  if (error.kind() != ErrorKind::mapped && !is_in_another_context(range))
    warn_fallback("messages to another process are packed", error.what());
  return error.kind();
}

// If the driver refuses it, its owner may have freed what else is mapped of the same block.
Mapped map_anew(device::Device& device, const RemoteRange& range, const device::SharedAllocation& allocation,
                Pause pause) {
  ImportPtr imported;
  std::optional<ErrorKind> refusal = map(device, range, allocation, imported);
  if (refusal && pause == kFirstPause) {
    end_if([&](const Mapped& one) { return one.range.touches(range); });
    if (refusal == ErrorKind::mapped && has_ended(range)) refusal = map(device, range, allocation, imported);
  }
  return {range, allocation.id, std::move(imported), refusal == ErrorKind::device, Clock::now(), pause};
}

// A new one. Its owner has freed what else is mapped there. Null: that has not ended.
const Mapped* add(device::Device& device, const RemoteRange& range, const device::SharedAllocation& allocation,
                  Pause pause) {
  auto& [mutex, all, n_freed_seen] = mapped();
  end_if([&](const Mapped& one) {
    return (one.id != allocation.id && one.range.overlaps(range)) || device.has_ended(one.range.context);
  });
  if (!has_ended(range)) return nullptr;
  if (all.size() >= kMostMapped) all.pop_back();
  if (n_freed_seen.try_emplace(range.owner, range.owner->freed.count()).second) {
    range.owner->importers.add(ipc::OwnSegment::own().segment().rank);
    create_sleeping_thread();
  }
  wants_progress.store(true, std::memory_order_relaxed);
  Mapped added = map_anew(device, range, allocation, pause);
  return &all.emplace_front(std::move(added));
}

const Mapped* find_or_add(device::Device& device, const RemoteRange& range,
                          const device::SharedAllocation& allocation) {
  auto& all = mapped().all;
  const auto is_it = [&](const Mapped& one) {
    return one.id == allocation.id && one.range.context == range.context && one.range.overlaps(range);
  };
  const auto known = std::find_if(all.begin(), all.end(), is_it);
  if (known == all.end()) return add(device, range, allocation, kFirstPause);
  if (known->imported) {
    std::rotate(all.begin(), known, known + 1);
    return &all.front();
  }
  if (Clock::now() < known->since + known->pause) return &*known;
  const Pause next = std::min(2 * known->pause, kLongestPause);
  all.erase(known);
  return add(device, range, allocation, next);
}

}  // namespace

Import::Import(device::Device& device, const RemoteRange& range, const device::SharedAllocation& allocation)
    : device_(device),
      range_(range),
      counted_(range.owner->imports_of(allocation.id)),
      begin_(device::Scope(device, range.context).map(allocation)) {}

Import::~Import() {
  if (device_.has_ended(range_.context)) return;  // with its mappings: another one may be at the address
  try {
    device::Scope(device_, range_.context).unmap(begin_);
  } catch (...) {
    warn_fallback("an import of another process's memory may stay open", caught_error().what());
  }
}

void Mappings::let_go() {
  for (One& one : all_) one.held.reset();
}

bool Mappings::hold() {
  return std::all_of(all_.begin(), all_.end(), [](One& one) { return (one.held = one.known.lock()) != nullptr; });
}

ImportPtr import_memory(device::Device& device, device::Context context, const ipc::Segment& owner,
                        const device::SharedAllocation& allocation, bool& is_refused) noexcept try {
  const RemoteRange range{&owner, context, allocation.begin, allocation.begin + allocation.bytes};
  const std::lock_guard lock(mapped().mutex);
  const Mapped* const found = find_or_add(device, range, allocation);
  if (found == nullptr) return nullptr;
  is_refused = is_refused || found->is_refused;
  return found->imported;
} catch (...) {
  warn_fallback("messages to another process are packed", caught_error().what());
  return nullptr;
}

bool is_mapped_in_small_pages(const device::SharedAllocation& allocation) {
  constexpr std::uint64_t kSmall = 4 << 10, kMedium = 64 << 10;
  return (allocation.bytes + kSmall - 1) / kSmall * kSmall % kMedium != 0;
}

void end_freed_mappings(IfLocked if_locked) noexcept {
  std::unique_lock lock(mapped().mutex, std::defer_lock);
  if (if_locked == IfLocked::wait) lock.lock();
  else if (!lock.try_lock()) return;
  for (auto& [its_owner, seen] : mapped().n_freed_seen) {
    const auto* const owner = its_owner;
    const auto end = [&](std::uint64_t id) {
      end_if([&](const Mapped& one) { return one.range.owner == owner && one.id == id; });
    };
    if (!owner->freed.each_since(seen, end)) end_if([&](const Mapped& one) { return one.range.owner == owner; });
  }
}

}  // namespace tempi::message
