#include "device/staging.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "base/options.hpp"

namespace tempi::device {
namespace {

using Block = Staging::Block;

constexpr std::size_t kGranularity = 1 << 16;

std::mutex mutex;
std::size_t all_bytes = 0;  // of all blocks, used and unused

std::size_t limit_bytes() {
  static const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(0, number(Option::POOL_LIMIT)));
  return limit;
}

// Never destroyed: staging may be given back by threads that outlive the static objects.
std::vector<Block>& unused() {
  static auto& blocks = *new std::vector<Block>;
  return blocks;
}

std::size_t rounded(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + kGranularity - 1) / kGranularity) * kGranularity;
}

// The smallest unused block that fits without wasting more than it serves; of equals the one given back last.
Block* best_fit(MemoryKind kind, Context context, std::size_t bytes) {
  const std::size_t exact = rounded(bytes);
  Block* best = nullptr;
  for (auto block = unused().rbegin(); block != unused().rend(); ++block) {
    const bool fits = block->kind == kind && block->context == context && block->bytes >= exact &&
                      block->bytes <= std::max(2 * bytes, kGranularity);
    if (fits && (best == nullptr || block->bytes < best->bytes)) best = &*block;
    if (best != nullptr && best->bytes == exact) break;
  }
  return best;
}

Block allocate(Device& device, MemoryKind kind, Context context, std::size_t bytes) {
  const Block block{kind, context, bytes,
                    kind == MemoryKind::device ? device.allocate(bytes) : device.allocate_pinned(bytes)};
  const std::lock_guard lock(mutex);
  all_bytes += bytes;
  return block;
}

void deallocate(Device& device, const Block& block) noexcept {
  {
    const std::lock_guard lock(mutex);
    all_bytes -= block.bytes;
  }
  if (block.kind == MemoryKind::pinned) return device.deallocate_pinned(block.data, block.bytes);
  try {
    const Scope scope(device, block.context);
    device.deallocate(block.data);
  } catch (...) {  // the context is gone, and its memory with it
  }
}

bool fits_limit(std::size_t bytes) {
  const std::lock_guard lock(mutex);
  return all_bytes + bytes <= limit_bytes();
}

void make_room(Device& device, std::size_t bytes) {
  if (!fits_limit(bytes)) release_staging(device);
  if (!fits_limit(bytes)) throw Error(ErrorKind::no_memory, "TEMPI_POOL_LIMIT is reached");
}

Block take(Device& device, MemoryKind kind, Context context, std::size_t bytes, Limit limit) {
  {
    const std::lock_guard lock(mutex);
    if (Block* block = best_fit(kind, context, bytes)) {
      const Block taken = *block;
      *block = unused().back();
      unused().pop_back();
      return taken;
    }
  }
  const std::size_t whole = rounded(bytes);
  if (limit == Limit::pool) make_room(device, whole);
  try {
    return allocate(device, kind, context, whole);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::no_memory) throw;
  }
  release_staging(device);
  return allocate(device, kind, context, whole);
}

}  // namespace

Staging::Staging(Device& device, MemoryKind kind, Context context, std::int64_t bytes, Limit limit)
    : device_(device),
      block_(
          take(device, kind, kind == MemoryKind::device ? context : nullptr, static_cast<std::size_t>(bytes), limit)) {}

Staging::~Staging() {
  if (!is_abandoned_ && !fits_limit(0)) {
    deallocate(device_, block_);
  } else {
    const std::lock_guard lock(mutex);
    if (is_abandoned_) all_bytes -= block_.bytes;
    else unused().push_back(block_);
  }
}

void release_staging(Device& device) noexcept {
  std::vector<Block> blocks;
  {
    const std::lock_guard lock(mutex);
    blocks.swap(unused());
  }
  for (const Block& block : blocks) deallocate(device, block);
}

}  // namespace tempi::device
