// Memory of other processes that kernels of this one reach.
#pragma once

#include <memory>

#include "device/device.hpp"

namespace tempi::message {

// An allocation of another rank, mapped into a context while it lives: kernels that use it hold it.
class Reached {
 public:
  Reached(device::Device& device, device::Context context, const device::SharedAllocation& allocation);
  ~Reached();
  Reached(const Reached&) = delete;
  Reached& operator=(const Reached&) = delete;
  std::uintptr_t begin() const { return begin_; }

 private:
  device::Device& device_;
  const device::Context context_;
  const std::uintptr_t begin_;
};
using ReachedPtr = std::shared_ptr<const Reached>;

// Mapped once, and kept until its owner has freed it or many others have been mapped since. Null: it cannot be mapped.
ReachedPtr reach(device::Device& device, device::Context context, int rank,
                 const device::SharedAllocation& allocation) noexcept;

}  // namespace tempi::message
