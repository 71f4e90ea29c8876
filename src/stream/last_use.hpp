// The order of the exchanges of a request in several streams. The program may have destroyed the earlier stream, so a
// stream waits for a mark behind the earlier exchange. Marks take time: an exchange gets one only after a request has
// been used in a second stream.
#pragma once

#include <memory>

#include "device/device.hpp"
#include "pack/exchange.hpp"

namespace tempi::message {

// The last exchange of a request outside of graphs.
struct LastUse {
  device::StreamHandle stream = nullptr;
  std::weak_ptr<pack::PreparedExchange> exchange{};  // empty: there was none, or it has ended and was given up
  device::MarkPtr mark{};                            // behind it; null: the program had used one stream only
};

// Before work is queued in the entered stream `handle`: the stream waits for the exchange, if it is in another one.
// Without a mark, the CPU waits.
void come_after(const device::Scope& stream, device::StreamHandle handle, const LastUse& last);

// For the exchange that was queued in the entered stream. Null: the program has used one stream only.
device::MarkPtr mark_of_use(const device::Scope& stream);

}  // namespace tempi::message
