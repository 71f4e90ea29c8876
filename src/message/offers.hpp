// The offers that receives make, and the sends that claim them.
//
// Glossary
//   meets   MPI matches the n-th message of a line with its n-th receive: they meet
//   early   a send whose receive has not been posted yet
//   (turn: meetings.hpp; offer, slot, line, claim: mailbox/contents.hpp)
//
// Invariants
//   An offer can be claimed only after the library has its receive. It is not published if the receives have been
//   closed since it was counted: another thread's receive may have slipped in before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "mailbox/mailbox.hpp"
#include "message/landing.hpp"
#include "message/meetings.hpp"
#include "pack/transfer.hpp"

namespace tempi::message {

using mailbox::OfferState;

// A started receive whose buffer may be written by the sender. Its slot is given back when the receive is complete, or
// when the part that keeps the offer for its next start ends (Part::last_offer).
class Offer : public std::enable_shared_from_this<Offer> {
 public:
  Offer(mailbox::Slot& slot, const Meetings::Place& place)
      : slot_(slot), line_(place.line), source_(place.source), n_(place.n), posted_(place.posted) {}
  ~Offer();
  Offer(const Offer&) = delete;
  Offer& operator=(const Offer&) = delete;

  const Meetings* counted_by = nullptr;  // set before each post()

  // For senders in this process.
  pack::PreparedPtr prepared{};
  std::int64_t count = 0;
  pack::End end{};  // the program's buffer, which is the receive's until it is complete

  std::unique_ptr<Landing> landing{};  // the other place for its bytes
  std::optional<Error> failure{};      // the bytes are lost

  std::int64_t bytes() const { return count * end.layout->size; }
  // Of a message that is written.
  std::int64_t written_bytes() const { return slot_.written.load(std::memory_order_relaxed); }
  mailbox::Slot& slot() { return slot_; }
  // The receive has ended, and is posted again: from the same process into the same buffer.
  void renew(const Meetings::Place& place);
  // False: it ends.
  bool may_be_kept();
  // The library has the receive. False: it is not published.
  bool post() noexcept;
  // The receive is complete, or will be by a packed message. True: the sender has written the bytes. `has_come`: the
  // message has, so that a sender that has not ended its claim sent the marker before: waits for its kernel, in
  // MPI_Test, too.
  bool end_it(bool has_come) noexcept;
  // Its sender has begun, and not ended.
  bool is_claimed() const { return slot_.word.load() == word(OfferState::claimed).bits(); }
  // Its sender has not ended: it may begin, or has begun.
  bool is_open() const;
  // Queues the unpacking of what has arrived in the landing. False: that has failed.
  bool unpack_arrived() noexcept;
  // The receive is complete.
  bool is_ended() const { return is_ended_.load(); }
  // The program has freed an allocation: revokes the published ones of its memory that nobody has claimed.
  static void revoke_in(std::uint64_t allocation) noexcept;
  // Revokes those that are published of a receive and of later ones of its line. False: one is claimed, or was: the
  // messages up to that one have been sent.
  static bool revoke_from(const Posted& receive) noexcept;
  // Revokes all. Those returned are claimed, or were.
  static std::vector<std::shared_ptr<Offer>> revoke_all() noexcept;

 private:
  std::uint16_t slot_number() const;
  mailbox::OfferWord word(OfferState state) const;
  void publish() noexcept;
  bool revoke() noexcept;
  template <class Fn>
  static std::vector<std::shared_ptr<Offer>> revoke_if(const Fn& is_one) noexcept;

  mailbox::Slot& slot_;
  mailbox::Line* line_;  // another one's when the communicator has ended
  int source_;           // in MPI_COMM_WORLD
  std::uint64_t n_;
  Posted posted_;
  bool is_posted_ = false, was_written_ = false, is_out_of_reach_ = false;
  std::atomic<bool> is_ended_{false};
};
using OfferPtr = std::shared_ptr<Offer>;

// The offer that a send has claimed.
struct Claim {
  mailbox::Slot* slot;
  mailbox::OfferWord word;

  // The bytes are written, or will come packed. With the engine's lock: a second thread could write over the slot's
  // next offer.
  void end(bool is_written) const { slot->step_alone(word, is_written ? OfferState::written : OfferState::declined); }
  // They are neither, though the marker has been sent.
  void lose() const { slot->step_alone(word, OfferState::lost); }
  // Its marker has not been sent, though the bytes are written.
  void take_back() const { slot->step(word.in(OfferState::written), OfferState::declined); }
};

enum class Met : std::uint8_t {
  early,    // the receive has not been posted
  claimed,  // an offer
  nothing,  // the message is packed
};
struct Meeting {
  Met met;
  Claim claim{};
};
// Looks for the receive of a message, and claims its offer. In a line of all tags it does so only if `is_next`: no
// early message to its receiver is before it.
Meeting meet(const Turn& turn, bool is_next) noexcept;

}  // namespace tempi::message
