#include "message/reach.hpp"

#include <algorithm>
#include <deque>
#include <mutex>

#include "base/error.hpp"
#include "base/log.hpp"

namespace tempi::message {
namespace {

struct Mapped {
  int rank;
  device::Context context;
  std::uint64_t begin, end, id;  // of the allocation, in its process
  ReachedPtr reached;

  // It lies at some of the allocation's addresses.
  bool is_at(int its_rank, device::Context its_context, const device::SharedAllocation& allocation) const {
    const bool overlaps = begin < allocation.begin + allocation.bytes && allocation.begin < end;
    return rank == its_rank && context == its_context && overlaps;
  }
};

constexpr std::size_t kMostMapped = 256;

struct AllMapped {
  std::mutex mutex;
  std::deque<Mapped> all;  // newest first
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
  } catch (...) {
    warn_fallback("memory of another process stays mapped", caught_error().what());
  }
}

// Another allocation at some of its addresses: the owner has freed the one before it, and nobody writes to that.
ReachedPtr reach(device::Device& device, device::Context context, int rank,
                 const device::SharedAllocation& allocation) noexcept try {
  const std::lock_guard lock(mapped().mutex);
  auto& all = mapped().all;
  const auto is_it = [&](const Mapped& one) { return one.is_at(rank, context, allocation) && one.id == allocation.id; };
  if (const auto known = std::find_if(all.begin(), all.end(), is_it); known != all.end()) {
    std::rotate(all.begin(), known, known + 1);
    return all.front().reached;
  }
  std::erase_if(all, [&](const Mapped& one) { return one.is_at(rank, context, allocation); });
  if (all.size() >= kMostMapped) all.pop_back();
  const std::uint64_t end = allocation.begin + allocation.bytes;
  all.push_front({rank, context, allocation.begin, end, allocation.id, map(device, context, allocation)});
  return all.front().reached;
} catch (...) {
  warn_fallback("messages to another process are packed", caught_error().what());
  return nullptr;
}

}  // namespace tempi::message
