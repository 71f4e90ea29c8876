// The kernels of enqueued exchanges, prepared once for each set of channel ends.
#pragma once

#include <memory>
#include <vector>

#include "device/device.hpp"
#include "pack/exchange.hpp"
#include "transport/transport.hpp"

namespace tempi::message {

struct EnqueuedEnd {
  const std::shared_ptr<ChannelEnd>* end;  // connected
  bool is_send;
};

// The exchange of these ends, for the entered stream. It is not launched. `reduction`: that of the ends; null: none.
// The same ends always have the same one. With the lock "enqueued". Throws Error.
std::shared_ptr<pack::PreparedExchange> prepared_exchange(const device::Scope& stream, bool is_captured,
                                                          const std::vector<EnqueuedEnd>& ends,
                                                          const pack::TypedReduction* reduction);

// The request of this end has ended. Queued kernels and captured graphs may still use the end. Call it with the lock
// "enqueued".
void forget_exchanges_of(const ChannelEnd& end) noexcept;

// Gives up the exchanges that neither a kernel nor a graph uses any longer, and their mappings of memory of the other
// process. Call it with the lock "enqueued".
void drop_ended_exchanges();

}  // namespace tempi::message
