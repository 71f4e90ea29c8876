// Memory of other processes that kernels of this process can access.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "transport/ipc/segment/segment.hpp"

namespace tempi::message {

// Addresses of another process, as a context of this one maps them.
struct RemoteRange {
  const ipc::Segment* owner;
  device::Context context;
  std::uint64_t begin, end;

  // In any context, because freed memory is freed for all contexts.
  bool overlaps(const RemoteRange& other) const {
    return owner == other.owner && begin < other.end && other.begin < end;
  }
  // The driver shares memory by whole blocks, in which several allocations may lie.
  bool touches(const RemoteRange& other) const { return blocks().overlaps(other.blocks()); }

 private:
  static constexpr std::uint64_t kBlockBytes = 2 << 20;

  RemoteRange blocks() const {
    return {owner, context, begin / kBlockBytes * kBlockBytes, (end + kBlockBytes - 1) / kBlockBytes * kBlockBytes};
  }
};

// A mapping that its owner may see.
class CountedImport {
 public:
  explicit CountedImport(std::atomic<std::uint32_t>& imports) : imports_(imports) { imports_.fetch_add(1); }
  ~CountedImport() { imports_.fetch_sub(1); }
  CountedImport(const CountedImport&) = delete;
  CountedImport& operator=(const CountedImport&) = delete;

 private:
  std::atomic<std::uint32_t>& imports_;
};

// An allocation of another rank, mapped into a context while it lives: kernels that use it hold it.
class Import {
 public:
  Import(device::Device& device, const RemoteRange& range, const device::SharedAllocation& allocation);
  ~Import();
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  const RemoteRange& range() const { return range_; }
  std::uintptr_t begin() const { return begin_; }

 private:
  device::Device& device_;
  const RemoteRange range_;
  const CountedImport counted_;  // until the mapping has ended
  const std::uintptr_t begin_;
};
// The code that releases the last reference does not wait for the mapping's end (transport/ipc/unmapping.hpp).
using ImportPtr = std::shared_ptr<const Import>;

// The mappings that a put writes to. Between its starts it does not hold them: freed memory can go.
class Mappings {
 public:
  void add(ImportPtr mapping) { all_.push_back({mapping, mapping}); }
  void let_go();
  // False: one has ended.
  bool hold();

 private:
  struct One {
    std::weak_ptr<const Import> known;
    ImportPtr held;
  };
  std::vector<One> all_;
};

// Memory of the shared segment's process. Mapped once, and kept until its owner has freed it or many others have been
// mapped since. Null: it cannot be mapped, or not now. `is_refused` becomes true if the driver does not map it at all.
ImportPtr import_memory(device::Device& device, device::Context context, const ipc::Segment& owner,
                        const device::SharedAllocation& allocation, bool& is_refused) noexcept;
inline ImportPtr import_memory(device::Device& device, device::Context context, const ipc::Segment& owner,
                               const device::SharedAllocation& allocation) noexcept {
  bool is_refused = false;
  return import_memory(device, context, owner, allocation, is_refused);
}

// The times of an H200 (driver 580) say that CUDA maps memory of another process in pages of 2 MiB or 64 KiB if the
// allocation is a multiple of them, counted in whole 4 KiB; else in pages of 4 KiB, which kernels reach slowly where
// they spread over more than half a GiB. (Rows of 24 bytes 2 KiB apart on one GPU: 54 us over 1 GiB, 24 over 512 MiB;
// in small pages 415 and 29.)
bool is_mapped_in_small_pages(const device::SharedAllocation& allocation);

// Ends the mappings of memory whose owners have reported it as freed. Work that uses a mapping keeps it until the work
// ends.
void end_freed_mappings() noexcept;

}  // namespace tempi::message
