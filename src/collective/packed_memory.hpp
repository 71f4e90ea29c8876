// Memory for the packed bytes of a buffer argument. All packed buffers of the argument share it.
#pragma once

#include <cstddef>
#include <memory>

#include "transfer/packed_buffer.hpp"

namespace tempi::collective {

// Rounded up to a multiple of the widest word of a kernel, so that the next block can begin there.
constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + 15) / 16 * 16; }

class PackedMemory {
 public:
  // Call it with the location of each block. The GPU of the first block in GPU memory packs all blocks.
  void serve(const pack::Place& place);
  const device::Location& worker() const { return worker_; }
  // True: all blocks are in memory of the worker's GPU.
  bool is_all_on_worker() const { return worker_.on_gpu() && is_all_on_worker_; }

  // Takes memory on the worker's GPU, or pinned host memory for it. False: there is none.
  bool take(device::Device& device, device::MemoryKind kind, std::int64_t bytes, device::Limit limit,
            device::Overrun overrun);
  // Ordinary memory; the device may be null. Throws Error (no_memory).
  void take_ordinary(device::Device* device, std::int64_t bytes, device::Overrun overrun);

  std::byte* data() const { return memory_->data(); }
  bool is_on_gpu() const { return location_.on_gpu(); }
  message::SharedRange from(std::int64_t offset) const { return {memory_, location_, offset}; }

 private:
  device::Location worker_{};
  bool is_all_on_worker_ = true;
  std::shared_ptr<device::Staging> memory_{};
  device::Location location_{};
};

}  // namespace tempi::collective
