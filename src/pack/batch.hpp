// Many small moves in one launch.
#pragma once

#include <memory>
#include <vector>

#include "device/staging.hpp"
#include "pack/merged.hpp"

namespace tempi::pack {

// Queued work. It is done when the mark is reached. Until then, it uses `tables` and `list`.
struct Queued {
  device::MarkPtr mark;
  std::shared_ptr<device::Staging> tables = nullptr;
  std::shared_ptr<const void> list = nullptr;  // of queue_merged()
};

// Box moves between memory that kernels of one context can access.
class Batch {
 public:
  explicit Batch(const device::Scope& here) : here_(here) {}

  // Short moves share a launch. A move with a long list of boxes, or with many bytes, is queued
  // immediately, with its own launch.
  void add(const BoxMove& box_move);

  // A move from layout to layout; all of them share a launch.
  void add_direct(const Member& member) { direct_.push_back(member); }

  Queued queue();  // queues the added moves

 private:
  void queue_boxes(Queued& queued);
  std::shared_ptr<device::Staging> queue_many();

  const device::Scope& here_;
  std::vector<KernelBox> boxes_;
  std::vector<Member> direct_;
};

// Memory of the laid-out end's GPU with room for all bytes.
struct Stage {
  std::byte* on_device;
  std::int64_t chunk_bytes;  // approximate size of a chunk
};

// Queues a move that goes through `stage` in chunks, so that kernels and copies overlap. The dense
// end must be in pinned memory.
device::MarkPtr queue_staged(const BoxMove& box_move, const Stage& stage, device::Device& device);

}  // namespace tempi::pack
