#include "collective/packed_memory.hpp"

#include "base/error.hpp"
#include "base/log.hpp"

namespace tempi::collective {

bool PackedMemory::take(device::Device& device, const device::Location& worker, device::MemoryKind kind,
                        std::int64_t bytes, device::Limit limit, device::Overrun overrun) try {
  memory_ = std::make_shared<device::Staging>(device, worker.context, kind, bytes, limit, overrun);
  location_ = {kind, worker.ordinal, worker.context};
  return true;
} catch (...) {
  warn_fallback("the bytes of a collective call travel through other memory", caught_error().what());
  return false;
}

void PackedMemory::take_ordinary(device::Device* device, std::int64_t bytes, device::Overrun overrun) {
  memory_ = std::make_shared<device::Staging>(device, bytes, overrun);
}

}  // namespace tempi::collective
