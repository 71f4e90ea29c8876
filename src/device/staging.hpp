// Staging memory: taken from a pool that grows on demand, given back to it at the end of scope. Freed at finalize.
// What messages hold and what the pool keeps for later is bounded by TEMPI_POOL_LIMIT.
#pragma once

#include <cstddef>

#include "device/device.hpp"

namespace tempi::device {

// The memory of one call is not limited: without it the call could not be done.
enum class Limit { none, pool };

class Staging {
 public:
  // `kind` is device (memory of `context`, which must be entered) or pinned. Throws Error (no_memory).
  Staging(Device& device, MemoryKind kind, Context context, std::int64_t bytes, Limit limit = Limit::none);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(block_.data); }

  struct Block {
    MemoryKind kind;
    Context context;  // null for pinned memory
    std::size_t bytes;
    void* data;
  };

  // Leaves the memory where it is for good: somebody may still write to it, and behind its end (host_pages.hpp).
  void abandon() { is_abandoned_ = true; }

 private:
  Device& device_;
  Block block_;
  bool is_abandoned_ = false;
};

// Gives all unused staging memory back to the system. Nothing fails when the driver has shut down already.
void release_staging(Device& device) noexcept;

}  // namespace tempi::device
