// Channels between processes of a node, and within a process.
//
// The two ends find each other in the shared segments: each publishes an entry, looks for the other's, maps what its
// kernels write of the other process, and then marks the other's entry as paired.
//
//     sender: entry open ──▶ finds the receive, maps its buffer and its signal ──▶ marks the receive's entry paired
//     receiver: entry open ▶ finds the send, maps its signal ───────────────────▶ marks the send's entry paired
//
// Invariants
//   A channel is connected if both entries are paired. Both stay so.
//   An end closes its own entry only where it has not marked the other one, or where the other end has not marked it:
//   both ends come to the same result, whatever their order.
//   The n-th request of a (communicator, peer, tag) that is started on a stream pairs with the n-th of the other end.
//   Two processes that share a GPU have no channel: the kernel of one would wait, and keep the other's from running.
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace tempi::message {

std::unique_ptr<ChannelEnd> open_channel(Handle comm, Transfer& transfer, bool is_send);
void skip_channel(Handle request) noexcept;

}  // namespace tempi::message
