// The receiver's side of direct messages: a published receive describes the receive buffer for the sender.
#pragma once

#include "transport/ipc/state.hpp"

namespace tempi::message {

// True if one GPU can access the whole buffer.
bool lies_on_one_gpu(const PackedBuffer& packed_buffer);

// Null: the receive is not published.
PublishedReceivePtr make_published_receive(const Matcher::Place& place, Transfer& transfer);

}  // namespace tempi::message
