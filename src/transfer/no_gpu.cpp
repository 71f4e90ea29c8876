#include "transfer/no_gpu.hpp"

#include "base/options.hpp"
#include "device/device.hpp"
#include "transfer/strategy.hpp"
#include "transport/transports.hpp"

namespace tempi::message {

std::atomic<const link_map*> without_gpu_since{nullptr};
std::atomic<bool> packs_host_memory{true};

// The last library before the search for the device: one loaded in between is seen the next time.
void look_whether_without_gpu() noexcept {
  if (notes_messages() || flag(Option::REPORT)) return;  // a report counts what is passed on
  if (flag(Option::REDUCE_NODES)) return;                // all members vote, also those that use no GPU
  const link_map* const last = hold_last_library();
  if (device::current() != nullptr) return;
  packs_host_memory.store(may_pack_on_host(), std::memory_order_relaxed);
  without_gpu_since.store(last, std::memory_order_release);
}

void forget_without_gpu() noexcept { without_gpu_since.store(nullptr, std::memory_order_release); }

}  // namespace tempi::message
