#include "message/reach.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "message/lent.hpp"
#include "message/unmapping.hpp"

namespace tempi::message {
namespace {

struct Mapped {
  const mailbox::Contents* owner;
  device::Context context;
  std::uint64_t begin, end, id;  // of the allocation, in its process
  ReachedPtr reached;

  // It lies at some of the allocation's addresses.
  bool is_at(const mailbox::Contents& its_owner, device::Context its_context,
             const device::SharedAllocation& allocation) const {
    const bool overlaps = begin < allocation.begin + allocation.bytes && allocation.begin < end;
    return owner == &its_owner && context == its_context && overlaps;
  }
};

constexpr std::size_t kMostMapped = 256;

struct AllMapped {
  std::mutex mutex;
  std::deque<Mapped> all;  // newest first
  std::unordered_map<const mailbox::Contents*, std::uint64_t> n_freed_seen;
};

AllMapped& mapped() {
  static auto& the_mapped = *new AllMapped;
  return the_mapped;
}

ReachedPtr map(device::Device& device, device::Context context, const device::SharedAllocation& allocation) noexcept
    try {
  return std::make_shared<const Reached>(device, context, allocation);
} catch (...) {
  warn_fallback("messages to another process are packed", caught_error().what());
  return nullptr;
}

}  // namespace

Reached::Reached(device::Device& device, device::Context context, const device::SharedAllocation& allocation)
    : device_(device), context_(context), begin_(device::Scope(device, context).map(allocation)) {}

Reached::~Reached() {
  try {
    device::Scope(device_, context_).unmap(begin_);
  } catch (...) {  // if the context is gone, its mappings are, too
    warn_fallback("memory of another process may stay mapped", caught_error().what());
  }
}

// Another allocation at some of its addresses: the owner has freed the one before it, and nobody writes to that.
ReachedPtr reach(device::Device& device, device::Context context, const mailbox::Contents& owner,
                 const device::SharedAllocation& allocation) noexcept try {
  const std::lock_guard lock(mapped().mutex);
  auto& all = mapped().all;
  const auto is_it = [&](const Mapped& one) {
    return one.is_at(owner, context, allocation) && one.id == allocation.id;
  };
  if (const auto known = std::find_if(all.begin(), all.end(), is_it); known != all.end()) {
    std::rotate(all.begin(), known, known + 1);
    return all.front().reached;
  }
  if (!have_mappings_ended()) return nullptr;  // not now
  std::erase_if(all, [&](const Mapped& one) { return one.is_at(owner, context, allocation); });
  if (all.size() >= kMostMapped) all.pop_back();
  const std::uint64_t end = allocation.begin + allocation.bytes;
  mapped().n_freed_seen.try_emplace(&owner, owner.freed.count());
  shares_memory.store(true, std::memory_order_relaxed);
  all.push_front({&owner, context, allocation.begin, end, allocation.id, map(device, context, allocation)});
  return all.front().reached;
} catch (...) {
  warn_fallback("messages to another process are packed", caught_error().what());
  return nullptr;
}

namespace {

template <class Fn>
void take_out(const Fn& is_one, std::vector<ReachedPtr>& taken) {
  std::erase_if(mapped().all, [&](Mapped& one) {
    const bool is_taken = is_one(one);
    if (is_taken && one.reached) taken.push_back(std::move(one.reached));
    return is_taken;
  });
}

// Nothing, if another thread has the lock.
std::vector<ReachedPtr> take_freed() {
  std::vector<ReachedPtr> taken;
  const std::unique_lock lock(mapped().mutex, std::try_to_lock);
  if (!lock) return taken;
  for (auto& [its_owner, seen] : mapped().n_freed_seen) {
    const auto* const owner = its_owner;
    const auto take = [&](std::uint64_t id) {
      take_out([&](const Mapped& one) { return one.owner == owner && one.id == id; }, taken);
    };
    if (!owner->freed.each_since(seen, take)) take_out([&](const Mapped& one) { return one.owner == owner; }, taken);
  }
  return taken;
}

}  // namespace

void end_freed_mappings() noexcept try { end_later(take_freed()); } catch (...) {
  warn_fallback("memory that another process has freed stays mapped", caught_error().what());
}

}  // namespace tempi::message
