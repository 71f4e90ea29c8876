// The kernels of enqueued exchanges, prepared once for each set of channel ends.
#pragma once

#include <memory>
#include <vector>

#include "device/device.hpp"
#include "transport/transport.hpp"

namespace tempi::message {

struct EnqueuedEnd {
  const std::shared_ptr<ChannelEnd>* end;  // connected
  bool is_send;
};

// Queues the exchange of these ends, in the entered stream. With the lock "enqueued". Throws Error.
void queue_exchange(const device::Scope& stream, const std::vector<EnqueuedEnd>& ends);

// The request of this end has ended. Kernels that are queued, and captured graphs, may use the end for longer.
void forget_exchanges_of(const ChannelEnd& end) noexcept;

}  // namespace tempi::message
