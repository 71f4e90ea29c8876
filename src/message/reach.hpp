// Memory of other processes that kernels of this one reach.
#pragma once

#include <memory>

#include "device/device.hpp"
#include "mailbox/contents.hpp"

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

// Memory of the mailbox's process. Mapped once, and kept until its owner has freed it or many others have been mapped
// since. Null: it cannot be mapped, or not now.
ReachedPtr reach(device::Device& device, device::Context context, const mailbox::Contents& owner,
                 const device::SharedAllocation& allocation) noexcept;

// Ends the mappings of memory whose owners have told that it is freed. Work that uses it keeps it until its own end.
void end_freed_mappings() noexcept;

}  // namespace tempi::message
