#include "device/staging.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/error.hpp"

namespace tempi::device {
namespace {

using Block = Staging::Block;

constexpr std::size_t kGranularity = 1 << 16;

std::mutex mutex;

// Never destroyed: staging may be given back by threads that outlive the static objects.
std::vector<Block>& unused() {
  static auto& blocks = *new std::vector<Block>;
  return blocks;
}

// The smallest unused block that fits without wasting more than it serves.
Block* best_fit(MemoryKind kind, Context context, std::size_t bytes) {
  Block* best = nullptr;
  for (Block& block : unused()) {
    const bool fits = block.kind == kind && block.context == context && block.bytes >= bytes &&
                      block.bytes <= std::max(2 * bytes, kGranularity);
    if (fits && (best == nullptr || block.bytes < best->bytes)) best = &block;
  }
  return best;
}

void* allocate(Device& device, MemoryKind kind, std::size_t bytes) {
  return kind == MemoryKind::device ? device.allocate(bytes) : device.allocate_pinned(bytes);
}

void deallocate(Device& device, const Block& block) noexcept {
  if (block.kind == MemoryKind::pinned) return device.deallocate_pinned(block.data);
  try {
    const Scope scope(device, block.context);
    device.deallocate(block.data);
  } catch (...) {  // the context is gone, and its memory with it
  }
}

Block take(Device& device, MemoryKind kind, Context context, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex);
    if (Block* block = best_fit(kind, context, bytes)) {
      const Block taken = *block;
      *block = unused().back();
      unused().pop_back();
      return taken;
    }
  }
  const std::size_t rounded = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  try {
    return {kind, context, rounded, allocate(device, kind, rounded)};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::no_memory) throw;
  }
  release_staging(device);
  return {kind, context, rounded, allocate(device, kind, rounded)};
}

}  // namespace

Staging::Staging(Device& device, MemoryKind kind, Context context, std::int64_t bytes)
    : block_(take(device, kind, kind == MemoryKind::device ? context : nullptr, static_cast<std::size_t>(bytes))) {}

Staging::~Staging() {
  const std::lock_guard lock(mutex);
  unused().push_back(block_);
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
