// The order of messages on a communicator, as both ends count it, and the offers that receives make.
//
// Glossary
//   turn    the place of a send in its line: "the n-th message of this communicator, peer and tag", or of all tags
//   meets   MPI matches the n-th message of a line with its n-th receive: they meet
//   early   a send whose receive has not been posted yet
//   (offer, slot, line, claim: mailbox/contents.hpp)
//
// Invariants
//   Every message and every receive with a specific source is counted, in the order of the calls and before the library
//   sees it, whoever carries it; else the communicator is closed to claims (sends) or offers (receives).
//   The receives from one source have each a tag, or all MPI_ANY_TAG: then their line is of all tags, and a message's
//   turn in it is that among all messages to the receiver. The first receive decides.
//   Receives are closed by the first MPI_ANY_SOURCE, receive of the other kind, matched probe, cancelled receive,
//   failed call or persistent request of the library's, and by a second thread that receives; sends by the same among
//   sends. Offers made before a close stay good: MPI matches their receives first.
//   An offer can be claimed only after the library has its receive. It is not published if the receives have been
//   closed since it was counted: another thread's receive may have slipped in before.
//   Messages of a process to itself use its own mailbox, and a key that no other process uses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "mailbox/mailbox.hpp"
#include "message/landing.hpp"
#include "pack/transfer.hpp"
#include "peer/peer.hpp"

namespace tempi::message {

using mailbox::OfferState;

class Meetings;

// A started receive whose buffer may be written by the sender. Its slot is given back when the receive is complete, or
// when the part that keeps the offer for its next start ends (Part::last_offer).
class Offer : public std::enable_shared_from_this<Offer> {
 public:
  Offer(mailbox::Slot& slot, mailbox::Line& line, std::uint64_t n)
      : slot_(slot), line_(&line), source_(line.source.load()), n_(n) {}
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
  mailbox::Slot& slot() { return slot_; }
  // The receive has ended, and is posted again: the same buffer, for this process alone.
  void renew(mailbox::Line& line, std::uint64_t n);
  bool may_be_renewed() const;
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
  // Revokes all that are published. Those returned have been claimed, or are complete.
  static std::vector<std::shared_ptr<Offer>> revoke_all() noexcept;

 private:
  std::uint16_t slot_number() const;
  mailbox::OfferWord word(OfferState state) const;
  void publish() noexcept;
  bool revoke() noexcept;

  mailbox::Slot& slot_;
  mailbox::Line* line_;  // another one's when the communicator has ended
  int source_;           // the line's
  std::uint64_t n_;
  bool is_posted_ = false, was_written_ = false;
  std::atomic<bool> is_ended_{false};
};
using OfferPtr = std::shared_ptr<Offer>;

// The place of a send in its line.
struct Turn {
  mailbox::Contents* receiver;  // its mailbox
  mailbox::LineKey key;
  std::uint64_t n, n_of_all_tags;
  int rank;  // of the receiver, in MPI_COMM_WORLD
  bool is_own;
  bool is_never_probed;
};

// The offer that a send has claimed.
struct Claim {
  mailbox::Slot* slot;
  mailbox::OfferWord word;

  // The bytes are written, or will come packed.
  void end(bool is_written) const { slot->step(word, is_written ? OfferState::written : OfferState::declined); }
  // They are neither, though the marker has been sent.
  void lose() const { slot->step(word, OfferState::lost); }
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

// The counts on one communicator. Any thread may ask: the first that sends, or receives, is the only one that counts.
class Meetings : public peer::Attachment {
 public:
  explicit Meetings(Handle comm);
  ~Meetings() override;

  // A send that is packed, or one that may be direct: its turn; nothing: it is packed.
  void note_send(int peer, int tag) { count_send(peer, tag); }
  std::optional<Turn> place_send(int peer, int tag);
  // A receive that is not offered, or one that may be: its line and number; a null line: it cannot be offered.
  void note_receive(int peer, int tag);
  struct Place {
    mailbox::Line* line;
    std::uint64_t n;  // its number in the line
    bool is_own;
  };
  Place place_receive(int peer, int tag, bool is_offered);
  void close_sends() { sends_are_closed_.store(true); }
  void close_receives();
  void close();
  bool claims() const { return !sends_are_closed_.load(); }
  bool offers() const { return !receives_are_closed_.load(); }
  // A communicator of ours: nobody looks for messages on it before it receives them.
  void never_probe() { is_never_probed_.store(true); }
  // Those of every communicator.
  static void close_all() noexcept;

 private:
  // One (peer, tag), by which the map is keyed.
  struct Sent {
    int rank = -1;  // in MPI_COMM_WORLD; -1: no direct messages
    mailbox::Contents* receiver = nullptr;
    std::uint64_t n = 0;
    std::uint64_t* n_of_all_tags = nullptr;  // in sent_to_
  };
  struct Received {
    int rank = -1;
    mailbox::Line* line = nullptr;
    std::uint64_t n = 0;
  };
  using Key = std::uint64_t;
  // By key; the last one is at hand.
  template <class Count>
  class Counts {
   public:
    std::size_t size() const { return all_.size(); }
    // Null: the key is new.
    Count* find(Key key) {
      if (last_ != nullptr && last_key_ == key) return last_;
      const auto found = all_.find(key);
      return found != all_.end() ? at_hand(key, found->second) : nullptr;
    }
    Count& add(Key key) { return *at_hand(key, all_[key]); }

   private:
    Count* at_hand(Key key, Count& count) {
      last_key_ = key;
      return last_ = &count;
    }

    std::unordered_map<Key, Count> all_;
    Key last_key_ = 0;
    Count* last_ = nullptr;
  };
  static Key key_of(int peer, int tag) {
    return std::uint64_t{static_cast<std::uint32_t>(peer)} << 32 | static_cast<std::uint32_t>(tag);
  }
  static bool is_in_turn(std::atomic<std::thread::id>& user);
  std::uint64_t id_for(int rank) const;
  bool is_of_other_kind(int peer, int tag);
  const Sent* count_send(int peer, int tag);  // null: sends are closed
  Received& count_receive(Received* known, int peer, int tag, bool is_offered);

  const Handle comm_;
  const std::uint64_t id_, own_id_;  // among processes (0: none), and of messages to oneself
  std::atomic<bool> sends_are_closed_{false}, receives_are_closed_{false}, is_never_probed_{false};
  std::atomic<std::thread::id> sender_{}, receiver_{};  // the threads that count
  Counts<Sent> sent_;
  Counts<Received> received_;
  std::unordered_map<int, std::uint64_t> sent_to_;  // messages of all tags, by peer
  std::unordered_map<int, bool> receives_any_tag_;  // by peer
};

// Null: it cannot be found out when the communicator ends.
Meetings* meetings_on(Handle comm) noexcept;
// The handle may be any. Null: they have not been made.
Meetings* known_meetings(Handle comm) noexcept;

}  // namespace tempi::message
