#include "device/staging.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "base/options.hpp"
#include "base/page.hpp"
#include "device/host_pages.hpp"

namespace tempi::device {
namespace {

using Sort = Staging::Sort;
using Block = Staging::Block;

constexpr std::size_t kGranularity = 1 << 16;  // block size below which set-up (registration, a tail) dominates
constexpr std::size_t kSmallReceive = 4096;    // messages up to here do without a tail as fast

struct Hash {
  std::size_t operator()(const Sort& sort) const {
    const auto context = reinterpret_cast<std::uintptr_t>(sort.context);
    return (sort.bytes >> 12) * 16 + static_cast<std::size_t>(sort.kind) * 4 + (sort.is_unpinned ? 2 : 0) +
           (sort.has_tail ? 1 : 0) + (context >> 4);
  }
};

struct Pool {
  Mutex<Lock::staging> mutex;
  std::size_t all_bytes = 0;  // held by all blocks, used and unused
  std::unordered_map<Sort, std::vector<void*>, Hash> unused;
};

// Never destroyed: staging may be given back by threads that outlive the static objects.
Pool& pool() {
  static auto& all = *new Pool;
  return all;
}

std::size_t limit_bytes() {
  static const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(0, number(Option::POOL_LIMIT)));
  return limit;
}

// Eight sizes between powers of two: messages of similar size share blocks, and waste an eighth at most.
std::size_t rounded(std::size_t bytes, std::size_t granularity) {
  const std::size_t step = std::max(granularity, std::bit_floor(bytes) / 8);
  return std::max<std::size_t>(1, (bytes + step - 1) / step) * step;
}

Context context_of(MemoryKind kind, Context context) { return kind == MemoryKind::host ? nullptr : context; }

Sort sort_of(MemoryKind kind, Context context, std::size_t bytes) {
  return {kind, false, context_of(kind, context),
          rounded(bytes, kind == MemoryKind::host ? std::size_t{kPageBytes} : kGranularity)};
}

Sort sort_with_tail(MemoryKind kind, Context context, std::size_t bytes) {
  return {kind, true, context_of(kind, context), rounded(bytes, kGranularity)};
}

void* take_unused(const Sort& sort) {
  const std::lock_guard lock(pool().mutex);
  const auto found = pool().unused.find(sort);
  if (found == pool().unused.end() || found->second.empty()) return nullptr;
  void* const data = found->second.back();
  found->second.pop_back();
  return data;
}

void deallocate_pages(const Sort& sort, void* data) noexcept {
  if (sort.has_tail) deallocate_pages_with_tail(data, sort.bytes);
  else deallocate_host_pages(data, sort.bytes);
}

// Of a context that has ended, nothing is given back.
void leave_context(Device& device, const Block& block) noexcept try {
  const Scope here(device, block.sort.context);
  if (block.sort.kind == MemoryKind::device) here.deallocate(block.data);
  else here.unpin(block.data);
} catch (...) {  // the memory, or the pin, has gone with the context
}

void deallocate(Device* device, const Block& block) noexcept {
  if (block.sort.kind != MemoryKind::host && !block.sort.is_unpinned) leave_context(*device, block);
  if (block.sort.kind != MemoryKind::device) deallocate_pages(block.sort, block.data);
}

// Source of an allocation; the context is null for ordinary memory.
struct Origin {
  Device* device;
  Context context;
  Pinning pinning = Pinning::now;
};

// Null: the sort needs a tail and none is left.
void* allocate(const Origin& origin, const Sort& sort, TailUse use) {
  if (sort.kind == MemoryKind::device) return Scope(*origin.device, origin.context).allocate(sort.bytes);
  void* const data = sort.has_tail ? allocate_pages_with_tail(sort.bytes, use) : allocate_host_pages(sort.bytes);
  if (data == nullptr || sort.kind == MemoryKind::host || sort.is_unpinned) return data;
  try {
    Scope(*origin.device, origin.context).pin(data, sort.bytes);
  } catch (...) {
    deallocate_pages(sort, data);
    throw;
  }
  return data;
}

template <class Fn>
void release_if(Device* device, const Fn& is_one) noexcept {
  std::vector<Block> blocks;
  {
    const std::lock_guard lock(pool().mutex);
    std::erase_if(pool().unused, [&](const auto& of_sort) {
      const auto& [sort, unused] = of_sort;
      if (!is_one(sort)) return false;
      for (void* data : unused) blocks.push_back({sort, data});
      pool().all_bytes -= unused.size() * sort.held_bytes();
      return true;
    });
  }
  for (const Block& block : blocks) deallocate(device, block);
}

bool fits_limit(std::size_t bytes) {
  const std::lock_guard lock(pool().mutex);
  return pool().all_bytes + bytes <= limit_bytes();
}

std::atomic<std::uint64_t> n_shortages{0};
void count_shortage() { n_shortages.fetch_add(1, std::memory_order_relaxed); }

void make_room(Device* device, std::size_t bytes) {
  if (!fits_limit(bytes)) release_staging(device);
  if (fits_limit(bytes)) return;
  if (bytes <= limit_bytes()) count_shortage();
  throw Error(ErrorKind::no_memory, "TEMPI_POOL_LIMIT is reached");
}

// If there is no memory, once more without what the pool keeps.
template <class Fn>
auto with_room(Device* device, const Fn& get) {
  try {
    return get();
  } catch (...) {
    if (caught_error().kind() != ErrorKind::no_memory) throw;
  }
  count_shortage();
  release_staging(device);
  return get();
}

void count_held(std::size_t bytes) {
  const std::lock_guard lock(pool().mutex);
  pool().all_bytes += bytes;
}

// Before more is allocated: blocks of contexts that have ended are of no use.
void forget_ended(Device* device) noexcept {
  const auto has_ended = [&](const Sort& sort) { return sort.context != nullptr && device->has_ended(sort.context); };
  if (device != nullptr) release_if(device, has_ended);
}

// Nothing: the sort needs a tail and none is left.
std::optional<Block> take(const Origin& origin, Sort sort, Limit limit, TailUse use = TailUse::small) {
  if (void* const data = take_unused(sort)) return Block{sort, data};
  if (origin.pinning == Pinning::later) {
    sort.context = nullptr;
    sort.is_unpinned = true;
    if (void* const data = take_unused(sort)) return Block{sort, data};
  }
  forget_ended(origin.device);
  if (limit == Limit::pool && !sort.is_unpinned) make_room(origin.device, sort.bytes);
  void* const data = with_room(origin.device, [&] { return allocate(origin, sort, use); });
  if (data == nullptr) return {};
  count_held(sort.held_bytes());
  return Block{sort, data};
}

// One byte has no last byte apart from the others.
TailUse use_of_tail(std::size_t bytes) {
  if (bytes == 1) return TailUse::alone;
  return bytes <= kSmallReceive ? TailUse::small : TailUse::large;
}

Block take_guarded(const Origin& origin, MemoryKind kind, std::size_t bytes, Limit limit) {
  if (const auto block = take(origin, sort_with_tail(kind, origin.context, bytes), limit, use_of_tail(bytes)))
    return *block;
  if (bytes == 1) {
    release_staging(origin.device);  // unused blocks may hold the tails
    if (const auto block = take(origin, sort_with_tail(kind, origin.context, bytes), limit, TailUse::alone))
      return *block;
    throw Error(ErrorKind::no_memory, "out of address space");
  }
  return *take(origin, sort_of(kind, origin.context, bytes + 1), limit);
}

Block take(const Origin& origin, MemoryKind kind, std::int64_t n, Limit limit, Overrun overrun) {
  const auto bytes = static_cast<std::size_t>(n);
  if (overrun == Overrun::possible && kind != MemoryKind::device) return take_guarded(origin, kind, bytes, limit);
  return *take(origin, sort_of(kind, origin.context, bytes), limit);
}

// True: the pool keeps it.
bool give_back(const Block& block) noexcept {
  const std::lock_guard lock(pool().mutex);
  if (pool().all_bytes <= limit_bytes()) try {
      pool().unused[block.sort].push_back(block.data);
      return true;
    } catch (const std::bad_alloc&) {  // no memory for the list: the block itself is released
    }
  pool().all_bytes -= block.sort.held_bytes();
  return false;
}

}  // namespace

Staging::Staging(Device& device, Context context, MemoryKind kind, std::int64_t bytes, Limit limit, Overrun overrun,
                 Pinning pinning)
    : device_(&device), block_(take({device_, context, pinning}, kind, bytes, limit, overrun)) {}

Staging::Staging(Device* device, std::int64_t bytes, Overrun overrun)
    : device_(device), block_(take({device, nullptr}, MemoryKind::host, bytes, Limit::none, overrun)) {}

Staging::~Staging() {
  if (!give_back(block_)) deallocate(device_, block_);
}

void Staging::pin(Context context, Limit limit) {
  Sort& sort = block_.sort;
  if (!sort.is_unpinned) return;
  sort.is_unpinned = false;
  sort.context = context;
  try {
    if (limit == Limit::pool) make_room(device_, sort.bytes);
    with_room(device_, [&] { Scope(*device_, context).pin(block_.data, sort.bytes); });
  } catch (...) {
    sort.kind = MemoryKind::host;
    sort.context = nullptr;
    count_held(sort.bytes);
    throw;
  }
  count_held(sort.bytes);
}

std::uint64_t staging_shortages() noexcept { return n_shortages.load(std::memory_order_relaxed); }

void release_staging(Device* device) noexcept {
  release_if(device, [&](const Sort& sort) { return device != nullptr || sort.kind == MemoryKind::host; });
}

}  // namespace tempi::device
