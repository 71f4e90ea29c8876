// Many small transfers in one launch.
#pragma once

#include <memory>
#include <vector>

#include "device/staging.hpp"
#include "pack/engine.hpp"

namespace tempi::pack {

// Work under way. Done when the mark is reached; until then `tables` are in use.
struct Queued {
  device::MarkPtr mark;
  std::shared_ptr<device::Staging> tables;
};

// Transfers between memory that the kernels of one context reach. The context must be entered.
class Batch {
 public:
  Batch(device::Device& device, device::Context context) : device_(device), context_(context) {}

  // Short transfers share a launch; a long list of boxes, or much data, is queued at once, alone.
  void add(const Transfer& transfer);

  Queued queue();  // what was added

 private:
  std::shared_ptr<device::Staging> queue_many();

  device::Device& device_;
  device::Context context_;
  std::vector<KernelBox> boxes_;
};

// Device memory of the typed side's context with room for all bytes.
struct Stage {
  std::byte* on_device;
  std::int64_t chunk_bytes;  // about
};

// Through device memory in chunks, so that kernels and copies overlap; the packed side is pinned.
device::MarkPtr queue_staged(const Transfer& transfer, device::Context context, const Stage& stage,
                             device::Device& device);

}  // namespace tempi::pack
