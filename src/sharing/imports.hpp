// Memory of other processes that kernels of this process can access.
//
// A mapping is found again by its key: the owner and the id of the allocation, the context, and a range that overlaps.
// Its users
//   puts             transport/ipc/put_target.cpp
//   channels         transport/ipc/channel.cpp
//   partitions       transport/ipc/partitioned_puts.cpp
//   reductions       collective/member_buffers.cpp
//   windows          window/window.cpp
//
// The life of a mapping
//   1. import_memory() finds it, or maps the allocation: Import(), Scope::map, ipc_open
//      (device/cuda/ipc.cpp).
//   2. A list keeps it, the last used one first. Work that uses it holds an ImportPtr, too.
//   3. It leaves the list in these cases: its owner has freed the memory (end_freed_mappings);
//      other memory of its owner is mapped at its addresses; the driver refuses another mapping in
//      its block; its context has ended; 256 other mappings were used after it. MPI_Finalize ends no
//      mapping: those in the list last until their context or the process ends.
//   4. The last ImportPtr passes it to end_later(): a thread ends it (sharing/unmapping.hpp).
//   5. The thread unmaps it: ~Import(), Scope::unmap, ipc_close.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "segment/segment.hpp"

namespace tempi::message {

// A mapping of memory of another process into a context of this process.
struct RemoteRange {
  const ipc::Segment* owner;
  device::Context context;
  std::uint64_t begin, end;

  // Compares addresses only, not contexts, because freed memory is freed for all contexts.
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

// Counts a mapping in the shared segment of the owner, so that the owner knows of it.
class CountedImport {
 public:
  explicit CountedImport(std::atomic<std::uint32_t>& imports) : imports_(imports) { imports_.fetch_add(1); }
  ~CountedImport() { imports_.fetch_sub(1); }
  CountedImport(const CountedImport&) = delete;
  CountedImport& operator=(const CountedImport&) = delete;

 private:
  std::atomic<std::uint32_t>& imports_;
};

// An allocation of another rank that is mapped into a context as long as the object exists. Work that uses the memory
// holds a reference to the object.
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
// Its deleter is end_later(): the code that releases the last reference does not wait for the mapping's end
// (sharing/unmapping.hpp).
using ImportPtr = std::shared_ptr<const Import>;

// The mappings that a put writes to. It holds them only while the put runs, so that mappings of freed memory can end
// between the starts of a persistent request.
class Mappings {
 public:
  void add(ImportPtr mapping) { all_.push_back({mapping, mapping}); }
  void let_go();
  // False: a mapping has ended.
  bool hold();

 private:
  struct One {
    std::weak_ptr<const Import> known;
    ImportPtr held;
  };
  std::vector<One> all_;
};

// Maps an allocation of the process of a shared segment, or finds its mapping. The mapping is kept until the owner has
// freed the memory, or until many other mappings were used after it. Null: the memory cannot be mapped now.
// `is_refused` becomes true if the driver can never map it.
ImportPtr import_memory(device::Device& device, device::Context context, const ipc::Segment& owner,
                        const device::SharedAllocation& allocation, bool& is_refused) noexcept;
inline ImportPtr import_memory(device::Device& device, device::Context context, const ipc::Segment& owner,
                               const device::SharedAllocation& allocation) noexcept {
  bool is_refused = false;
  return import_memory(device, context, owner, allocation, is_refused);
}

// CUDA maps memory of another process in pages of 2 MiB or 64 KiB if the size of the allocation, rounded up to 4 KiB,
// is a multiple of this page size. Otherwise it uses pages of 4 KiB. (Concluded from times on an H200 with driver 580.)
// Kernels access pages of 4 KiB slowly if the accesses spread over more than 512 MiB: rows of 24 bytes, 2 KiB apart, on
// one GPU, take 54 us over 1 GiB and 24 us over 512 MiB; in pages of 4 KiB they take 415 us and 29 us.
bool is_mapped_in_small_pages(const device::SharedAllocation& allocation);

// Ends the mappings of memory whose owners have reported it as freed. Work that uses a mapping keeps it until the work
// ends. `skip`: does nothing while another thread has the lock.
enum class IfLocked { skip, wait };
void end_freed_mappings(IfLocked if_locked) noexcept;

}  // namespace tempi::message
