// The kernels of chunks, in the two lanes of their thread in turn. A kernel can start while the last tiles of the
// previous one still run.
#pragma once

#include <array>
#include <thread>

#include "pack/chunks.hpp"

namespace tempi::pack {

// Threads may take turns. queue() and join() may also throw because an earlier chunk has failed.
// After an exception, chunks that were queued earlier may still be running.
class ChunkLanes {
 public:
  ChunkLanes(device::Device& device, device::Context context) : device_(device), context_(context) {}

  // The mark after the chunk, and after the previous chunks of its lane.
  device::MarkPtr queue(const Chunk& chunk) {
    return queue([&](const device::Scope& here) { chunk.queue_kernel(here); });
  }
  device::MarkPtr queue(FunctionRef<void(const device::Scope&)> queue_kernel);
  // A mark after all chunks.
  device::MarkPtr join();
  void wait() noexcept;

 private:
  device::Device& device_;
  const device::Context context_;
  std::array<device::MarkPtr, device::kLanes.size()> last_{};
  std::size_t next_ = 0;  // lane
  std::thread::id user_{};
};

}  // namespace tempi::pack
