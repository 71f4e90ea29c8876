// The buffers of a message that are ours: each with its packed bytes and its peer.
//
// Glossary
//   part   one buffer of a managed message; sent ones are its outs, received ones its ins
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "message/offers.hpp"
#include "message/payload.hpp"

namespace tempi::message {

struct Direct;
struct OfferedLayout;

struct Part {
  Part(Side&& side, device::Device* device, int its_peer, int its_tag)
      : payload(std::move(side), device, device::Limit::pool), peer(its_peer), tag(its_tag) {}

  // Of a call that names no peer.
  Part(Side&& side, device::Device* device, Stretch&& stretch)
      : payload(std::move(side), device, std::move(stretch)), peer(MPI_PROC_NULL), tag(MPI_ANY_TAG) {}

  Payload payload;
  int peer, tag;                                   // in the message's communicator; a negative peer: any
  std::shared_ptr<const pack::Queued> queued{};    // the packing or unpacking under way, if any
  std::shared_ptr<const pack::Queued> deferred{};  // of a receive: unpacking that is left to the program's stream
  Posted posted{};                                 // of a receive
  std::uint64_t arrow = 0;                         // of a receive, in the timeline; 0: it has none
  OfferPtr offer{};                                // of a receive, if the sender may write into its buffer
  OfferPtr last_offer{};                           // for its next start
  std::shared_ptr<const OfferedLayout> offered{};  // of a receive that was offered
  std::uint64_t buffer = 0;                        // names it in its offers; 0: there was none
  std::optional<Turn> early{};                     // of a send whose receive has not been posted
  std::shared_ptr<Direct> direct{};                // of a send that has claimed an offer
  std::shared_ptr<Direct> last_direct{};           // of a send: it may meet the same buffer again
  bool was_direct = false;                         // the message that was complete last

  // There may be other memory at its address.
  void forget_buffer() {
    last_offer.reset();
    last_direct.reset();
    offered.reset();
    buffer = 0;
  }
};

// Parts of one direction, in the order of the call's arguments. The first takes no memory but the message's.
class Parts {
 public:
  template <class... Arguments>
  Part& add(Arguments&&... arguments) {
    if (!first_) return first_.emplace(std::forward<Arguments>(arguments)...);
    return more_.emplace_back(std::forward<Arguments>(arguments)...);
  }

  bool empty() const { return !first_; }
  Part& first() { return *first_; }
  const Part& first() const { return *first_; }

  template <class Fn>
  void each(const Fn& fn) {
    if (first_) fn(*first_);
    for (Part& part : more_) fn(part);
  }
  template <class Fn>
  bool all(const Fn& fn) {
    return (!first_ || fn(*first_)) && std::all_of(more_.begin(), more_.end(), fn);
  }
  std::int64_t bytes() const {
    std::int64_t sum = first_ ? first_->payload.bytes() : 0;
    for (const Part& part : more_) sum += part.payload.bytes();
    return sum;
  }

 private:
  std::optional<Part> first_{};
  std::list<Part> more_{};
};

}  // namespace tempi::message
