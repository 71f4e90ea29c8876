#include "collective/packed_memory.hpp"

#include "base/error.hpp"
#include "base/log.hpp"

namespace tempi::collective {

void PackedMemory::serve(const pack::Place& place) {
  if (place.touches_gpu() && !worker_.on_gpu()) worker_ = place.gpu();
  const bool is_on_worker = !place.is_split() && place.first.on_gpu() && place.first.context == worker_.context;
  is_all_on_worker_ = is_all_on_worker_ && is_on_worker;
}

bool PackedMemory::take(device::Device& device, device::MemoryKind kind, std::int64_t bytes, device::Limit limit,
                        device::Overrun overrun) try {
  memory_ = std::make_shared<device::Staging>(device, worker_.context, kind, bytes, limit, overrun);
  location_ = {kind, worker_.ordinal, worker_.context};
  return true;
} catch (...) {
  warn_fallback("the packed bytes of a collective call are in other memory", caught_error().what());
  return false;
}

void PackedMemory::take_ordinary(device::Device* device, std::int64_t bytes, device::Overrun overrun) {
  memory_ = std::make_shared<device::Staging>(device, bytes, overrun);
}

}  // namespace tempi::collective
