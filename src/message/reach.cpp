#include "message/reach.hpp"

#include <deque>
#include <mutex>

#include "base/error.hpp"
#include "base/log.hpp"

namespace tempi::message {
namespace {

struct Mapped {
  int rank;
  device::Context context;
  std::uint64_t begin, id;  // of the allocation, in its process
  ReachedPtr reached;

  bool is_of(int its_rank, device::Context its_context, const device::SharedAllocation& allocation) const {
    return rank == its_rank && context == its_context && begin == allocation.begin;
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

// An allocation of another id at the same address: its owner has freed the one before it, and nobody writes to it.
ReachedPtr reach(device::Device& device, device::Context context, int rank,
                 const device::SharedAllocation& allocation) noexcept try {
  const std::lock_guard lock(mapped().mutex);
  auto& all = mapped().all;
  for (auto one = all.begin(); one != all.end(); ++one) {
    if (!one->is_of(rank, context, allocation)) continue;
    if (one->id == allocation.id) return one->reached;
    all.erase(one);
    break;
  }
  if (all.size() >= kMostMapped) all.pop_back();
  all.push_front({rank, context, allocation.begin, allocation.id, map(device, context, allocation)});
  return all.front().reached;
} catch (...) {
  warn_fallback("messages to another process are packed", caught_error().what());
  return nullptr;
}

}  // namespace tempi::message
