// The buffers of a message that TEMPI handles, each with its packed bytes and its peer. request/message.hpp shows how
// these objects are nested.
//
// Glossary
//   transfer  one buffer of a managed message; sent buffers are its outs, received buffers its ins
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "transfer/packed_buffer.hpp"
#include "transport/transports.hpp"

namespace tempi::message {

struct Transfer {
  Transfer(Endpoint&& endpoint, device::Device* device, Handle comm, int its_peer, int its_tag)
      : packed_buffer(std::move(endpoint), device, device::Limit::pool),
        peer(its_peer),
        tag(its_tag),
        transport(transport_to(comm, its_peer)) {}

  // For a call without a peer.
  Transfer(Endpoint&& endpoint, device::Device* device, SharedRange&& shared_range)
      : packed_buffer(std::move(endpoint), device, std::move(shared_range)),
        peer(MPI_PROC_NULL),
        tag(MPI_ANY_TAG),
        transport(*transports.front()) {}

  PackedBuffer packed_buffer;
  int peer, tag;                                   // in the message's communicator; negative: any, or nobody
  const Transport& transport;                      // the transport of the peer
  std::shared_ptr<const pack::Queued> queued{};    // the packing or unpacking that is queued; null: none
  std::shared_ptr<const pack::Queued> deferred{};  // of a receive: deferred unpacking (request/deferred.hpp)
  std::uint64_t arrow = 0;                         // of a receive: number of its arrow in the timeline; 0: none
  Match match{};                                   // of a send: how it travels; set by Transport::match
  std::unique_ptr<TransportState> state{};         // the data of the transport
  bool was_direct = false;                         // the last complete message was direct

  // Called when other memory may be at the address of the buffer.
  void forget_buffer() {
    if (state) transport.forget_buffer(*this);
  }
};

// Transfers of one direction, in the order of the call's arguments. The first transfer is stored in the message itself.
class Transfers {
 public:
  template <class... Arguments>
  Transfer& add(Arguments&&... arguments) {
    if (!first_) return first_.emplace(std::forward<Arguments>(arguments)...);
    return more_.emplace_back(std::forward<Arguments>(arguments)...);
  }

  bool empty() const { return !first_; }
  Transfer& first() { return *first_; }
  const Transfer& first() const { return *first_; }

  template <class Fn>
  void each(const Fn& fn) {
    if (first_) fn(*first_);
    for (Transfer& transfer : more_) fn(transfer);
  }
  template <class Fn>
  bool all(const Fn& fn) {
    return (!first_ || fn(*first_)) && std::all_of(more_.begin(), more_.end(), fn);
  }
  std::int64_t bytes() const {
    std::int64_t sum = first_ ? first_->packed_buffer.bytes() : 0;
    for (const Transfer& transfer : more_) sum += transfer.packed_buffer.bytes();
    return sum;
  }

 private:
  std::optional<Transfer> first_{};
  std::list<Transfer> more_{};
};

}  // namespace tempi::message
