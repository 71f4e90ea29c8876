// Staging memory: taken from a pool that grows on demand, given back to it at the end of scope. Freed at finalize.
#pragma once

#include <cstddef>

#include "device/device.hpp"

namespace tempi::device {

class Staging {
 public:
  // `kind` is device (memory of `context`, which must be entered) or pinned. Throws Error (no_memory).
  Staging(Device& device, MemoryKind kind, Context context, std::int64_t bytes);
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

 private:
  Block block_;
};

// Gives all unused staging memory back to the system. Nothing fails when the driver has shut down already.
void release_staging(Device& device) noexcept;

}  // namespace tempi::device
