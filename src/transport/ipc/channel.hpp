// Channels between processes of a node, and within a process.
//
// The two ends find each other in the shared segments. Each end publishes an entry, searches for the entry of the other
// end, maps the memory of the other process that its kernels write, and then marks the other entry as paired.
//
//     sender: entry open ──▶ finds the receive, maps its buffer and its signal ──▶ marks the receive's entry paired
//     receiver: entry open ▶ finds the send, maps its signal ───────────────────▶ marks the send's entry paired
//
// Invariants
//   A channel is connected if both entries are paired. Both entries remain paired.
//   An end may close its own entry only if it has not marked the other entry, or if the other end has not marked this
//   entry. Therefore, both ends get the same result, in any order of their steps.
//   Requests with the same communicator, peer and tag are numbered in the order of their first start on a stream. The
//   n-th send pairs with the n-th receive of the other end.
//   Two processes that share a GPU have no channel: the waiting kernel of one process would prevent the kernel of the
//   other from running.
#pragma once

#include <memory>
#include <optional>

#include "transport/transport.hpp"

namespace tempi::message {

std::unique_ptr<ChannelEnd> open_channel(Handle comm, Transfer& transfer, bool is_send);
pack::Loss loss_of_peer(const Message* message, Handle request) noexcept;
std::optional<bool> is_send(Handle request) noexcept;
void skip_channel(Handle request) noexcept;

}  // namespace tempi::message
