#include "message/quiet.hpp"

#include "device/device.hpp"

namespace tempi::message {

std::atomic<const link_map*> quiet_since{nullptr};

// The last library before the search for the device: one loaded in between is seen the next time.
void look_whether_quiet() noexcept {
  const link_map* const last = hold_last_library();
  if (device::current() == nullptr) quiet_since.store(last, std::memory_order_release);
}

}  // namespace tempi::message
