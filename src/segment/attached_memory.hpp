// GPU memory that the process of a shared segment has attached to dynamic windows (MPI_Win_attach), as the other
// processes of the windows see it.
//
// Invariants
//   Only the process of the segment changes an entry, one thread at a time. While it does, n_changes is odd. Another
//   process skips such an entry. It cannot be the entry that the process searches for, because a process accesses
//   memory only after MPI_Win_attach and before MPI_Win_detach.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "device/device.hpp"

namespace tempi::ipc {

// Addresses are those of the process that has attached the range.
struct AttachedRange {
  std::uint64_t begin = 0, end = 0;
  device::SharedAllocation memory{};  // its allocation

  bool overlaps(std::uint64_t first, std::uint64_t last) const { return begin < last && first < end; }
};

class AttachedMemory {
 public:
  bool is_vacant() const { return window_.load(std::memory_order_acquire) == 0; }
  void attach(std::uint64_t window, const AttachedRange& range) noexcept {
    n_changes_.fetch_add(1, std::memory_order_acq_rel);
    range_ = range;
    window_.store(window, std::memory_order_release);
    n_changes_.fetch_add(1, std::memory_order_acq_rel);
  }
  void detach() noexcept {
    n_changes_.fetch_add(1, std::memory_order_acq_rel);
    window_.store(0, std::memory_order_release);
    n_changes_.fetch_add(1, std::memory_order_acq_rel);
  }
  // Nothing: it is not attached to this window, or is being changed.
  std::optional<AttachedRange> of(std::uint64_t window) const noexcept {
    const std::uint64_t before = n_changes_.load(std::memory_order_acquire);
    if (before % 2 != 0 || window_.load(std::memory_order_acquire) != window) return {};
    const AttachedRange range = range_;
    std::atomic_thread_fence(std::memory_order_acquire);
    return n_changes_.load(std::memory_order_relaxed) == before ? std::optional(range) : std::nullopt;
  }

 private:
  std::atomic<std::uint64_t> n_changes_{}, window_{};  // the id of the window; 0: vacant
  AttachedRange range_{};
};

}  // namespace tempi::ipc
