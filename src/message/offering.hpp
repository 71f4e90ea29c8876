// The receiver's side of direct messages: the offer of a receive describes its buffer for the sender.
#pragma once

#include "message/parts.hpp"

namespace tempi::message {

// One GPU reaches the whole buffer.
bool lies_on_one_gpu(const Payload& payload);

// Null: the receive is not offered.
OfferPtr make_offer(const Meetings::Place& place, Part& part);

}  // namespace tempi::message
