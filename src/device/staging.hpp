// Staging memory. It is taken from a pool that grows on demand, and returns to the pool when its owner is destroyed.
// The pool is freed in MPI_Finalize. TEMPI_POOL_LIMIT limits the sum of the bytes that messages hold and the bytes that
// the pool keeps. If the pool has a suitable block, taking it needs no system call, only a lock and a table lookup.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"

namespace tempi::device {

// none: the limit does not refuse this memory, because a blocking call needs it. At its end, memory
// beyond the limit is freed and does not return to the pool.
enum class Limit { none, pool };

// possible: the MPI library may write beyond the end of the memory (host_pages.hpp).
enum class Overrun { impossible, possible };

// later: pin() pins the pages. Until then they are only address space, to which the limit does not apply. The pool may
// return pages that are already pinned.
enum class Pinning { now, later };

class Staging {
 public:
  // Device memory of the context, or pages that the context pins. Both end with the context. The context is entered
  // only if the pool has no suitable block. Both constructors throw Error (no_memory).
  Staging(Device& device, Context context, MemoryKind kind, std::int64_t bytes, Limit limit = Limit::none,
          Overrun overrun = Overrun::impossible, Pinning pinning = Pinning::now);
  // Ordinary memory. If there is not enough, the pool frees unused memory, also memory of `device`, which may be null.
  Staging(Device* device, std::int64_t bytes, Overrun overrun);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(block_.data); }

  // The size of its memory, without mere address space.
  std::int64_t held_bytes() const { return static_cast<std::int64_t>(block_.sort.held_bytes()); }

  // Pins the memory, so that kernels can access it. Throws Error: it remains ordinary memory.
  void pin(Context context, Limit limit);

  // A block with a possible overrun has a tail (host_pages.hpp). If there are no tails, it has one additional byte.
  bool has_tail() const { return block_.sort.has_tail; }

  // Blocks of one sort are interchangeable.
  struct Sort {
    MemoryKind kind;
    bool has_tail;
    Context context;  // null for ordinary memory
    std::size_t bytes;
    bool is_unpinned = false;  // pinned memory, before pin()
    std::size_t held_bytes() const { return is_unpinned ? 0 : bytes; }
    bool operator==(const Sort&) const = default;
  };
  struct Block {
    Sort sort;
    void* data;
  };

 private:
  Device* device_;
  Block block_;
};

// The number of requests for staging memory that failed so far, but would succeed if cached messages released their
// memory.
std::uint64_t staging_shortages() noexcept;

// Frees all unused staging memory. Safe after the driver has shut down; with a null device, memory that the driver
// knows is kept.
void release_staging(Device* device) noexcept;

}  // namespace tempi::device
