// The order of messages on a communicator, as both ends count it.
//
// Glossary
//   turn    the place of a send in its line: "the n-th message of this communicator, peer and tag", or of all tags
//   (offer, slot, line, claim: mailbox/contents.hpp)
//
// Invariants
//   Every message and every receive with a specific source is counted, in the order of the calls and before the library
//   sees it, whoever carries it; else the communicator is closed to claims (sends) or offers (receives).
//   The receives from one source have each a tag, or all MPI_ANY_TAG: then their line is of all tags, and a message's
//   turn in it is that among all messages to the receiver. The first receive decides.
//   Receives are closed by the first MPI_ANY_SOURCE, receive of the other kind, matched probe, cancelled receive,
//   failed call or persistent request of the library's, by a second thread that receives, and by too many peers and
//   tags; sends by the same among sends. Offers made before a close stay good: MPI matches their receives first.
//   Messages of a process to itself use its own mailbox, and a key that no other process uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "mailbox/mailbox.hpp"
#include "peer/peer.hpp"

namespace tempi::message {

// The place of a send in its line.
struct Turn {
  mailbox::Contents* receiver;  // its mailbox
  mailbox::LineKey key;
  const mailbox::Line* known_line;  // it may be another one's by now; null: none was found
  std::uint64_t n, n_of_all_tags;
  int rank;  // of the receiver, in MPI_COMM_WORLD
  bool is_own;
  bool is_never_probed;

  // The receiver looks for messages before it receives them: it may wait for this one.
  bool is_probed() const { return !is_never_probed && receiver->probes.load(std::memory_order_acquire) != 0; }
};

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
    int source;       // in MPI_COMM_WORLD
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
    const mailbox::Line* line = nullptr;  // as Turn::known_line
    std::uint64_t n = 0;
    std::uint64_t* n_of_all_tags = nullptr;  // in sent_to_
    const Sent* next = nullptr;              // came behind it last time

    void fetch_ahead() const;
  };
  struct Received {
    int rank = -1;
    mailbox::Line* line = nullptr;
    std::uint64_t base = 0;  // of the line
    std::uint64_t n = 0;
    const Received* next = nullptr;

    std::uint64_t number() const { return base + n; }  // in the line
    void fetch_ahead() const {
      if (next != nullptr && next->line != nullptr) __builtin_prefetch(next->line, 1);
    }
  };
  using Key = std::uint64_t;
  // By key; the last one is at hand. Programs come back in the same order: what the next ones need of the memory that
  // the processes share is fetched ahead.
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
      if (last_ != nullptr) last_->next = &count;
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
  std::uint64_t id_for(int rank) const { return rank == own_rank_ ? own_id_ : id_; }
  bool may_have_line(int rank) const { return rank >= 0 && id_for(rank) != 0; }
  bool is_of_other_kind(int peer, int tag);
  // Null: sends are closed.
  Sent* count_send(int peer, int tag);
  Sent* add_sent(int peer, int tag);
  void look_for_receiver(Sent& sent) const;
  // Null: receives are closed, or its number is too large.
  Received* count_receive(int peer, int tag, bool is_offered);
  Received* add_received(int peer, int tag);
  void look_for_line(Received& received, int tag, bool is_offered) const;

  const Handle comm_;
  const int own_rank_;               // in MPI_COMM_WORLD
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
inline Meetings* known_meetings(Handle comm) noexcept {
  return static_cast<Meetings*>(peer::known_attachment(comm, peer::Attached::meetings));
}

// The job whose mailboxes these are: base/launcher.hpp.
const std::string& own_job();

}  // namespace tempi::message
