// The order of messages on a communicator. MPI matches the n-th message of a match queue with the n-th receive. Both
// processes count, so the sender finds the receive of a message without asking the receiver:
//
//     sender                                          receiver
//     Matcher of the communicator                     Matcher of the communicator
//       Sent: counts the sends to one (peer, tag)       Received: counts the receives from one (source, tag)
//     place_send() returns a SequencedSend: n         place_receive() returns a Place: base + n
//       find_match() claims the receive base + n        PublishedReceive publishes the receive base + n
//               │                                               │
//               └──▶  ipc::MatchQueue: base, n_posted, slots ◀──┘     in the shared segment of the receiver
//                     slots[(base + n) % kWindow] is the slot of the receive
//
// One match queue thus has three objects: Sent and Received are private counters of the two
// processes, ipc::MatchQueue is the memory that both read. Members called match_queue point to the
// ipc::MatchQueue, members called received to the Received. find_match() is declared in
// transport/ipc/published_receives.hpp.
//
// Example: rank 0 sends three messages with tag 7 to rank 1, and rank 1 posts three receives from rank 0 with tag 7,
// which are the first on this communicator. Rank 1 publishes receives 1, 2 and 3 in one match queue. The third send of
// rank 0 has n = 3. It claims the slot of receive 3, also if the first two messages were packed.
//
// Glossary
//   sequence number  the position of a send in its match queue: "the n-th message of this communicator, peer and tag",
//                    or of all tags
//   base             the number before the first one of a match queue. It is not 0 if another communicator has used the
//                    memory of the match queue before
//   order            the position of a receive among all receives that were posted in its match queue, including
//                    cancelled ones
//   closed           no send of this communicator claims a receive (sends are closed), or no receive is published
//                    (receives are closed), from now on
//   (published receive, slot, match queue, claim: segment/segment.hpp; undecided: transport/ipc/undecided.hpp)
//
// Invariants
//   Every message and every receive with a specific source is counted, whether TEMPI or the library handles it. The
//   counts are made in the order of the calls, and before the library's call. If a send or a receive cannot be counted,
//   the sends or the receives of the communicator are closed.
//   The number of a receive in its match queue is 1 + the receives that were posted there and not cancelled + the
//   messages of the match queue that undecided receives have matched. A receive is published only if no undecided
//   receive may match its message.
//   For each source, only one kind of receives is counted: those with a tag, or those with MPI_ANY_TAG. The first
//   receive decides. With MPI_ANY_TAG, one match queue has the messages of all tags, and the sequence number of a
//   message counts all messages to the receiver. Receives of the other kind are undecided.
//   Receives are closed by a failed call, by a persistent wildcard receive that the library handles, and by a second
//   thread that receives. Sends are closed by a failed call, by a second thread that sends, and by a cancelled send.
//   Receives that were published before remain valid, because MPI matches these receives first.
//   A Matcher counts a limited number of pairs (peer, tag). Messages of further pairs are packed.
//   Messages of a process to itself use its own shared segment, with a key that no other process uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/counters.hpp"
#include "base/trace.hpp"
#include "peer/peer.hpp"
#include "segment/own_segment.hpp"
#include "transport/ipc/undecided.hpp"

namespace tempi::message {

// The place of a send in its match queue.
struct SequencedSend {
  ipc::Segment* receiver;  // its shared segment
  ipc::MatchKey key;
  const ipc::MatchQueue* known_match_queue;  // of an earlier search; may belong to another key now; or null
  std::uint64_t n, n_of_all_tags;            // its number among the messages of its tag, and of all tags
  int rank;                                  // of the receiver, in MPI_COMM_WORLD
  bool is_own;                               // the receiver is this process
  bool is_never_probed;                      // nobody probes on the communicator
  bool has_come;                             // the receiver is already in the call that posts its receive

  // The receiver probes for messages before it receives them. It may wait for this message.
  bool is_probed() const { return !is_never_probed && receiver->probes.load(std::memory_order_acquire) != 0; }
};

// The receiver's counts for one match queue.
struct Received {
  enum class Kind : std::uint8_t {
    unknown,
    counted,
    undecided,
    lost,  // the numbers are unknown: a receive of the library may have been cancelled
  };

  int rank = -1;  // of the source, in MPI_COMM_WORLD
  Kind kind = Kind::unknown;
  ipc::MatchQueue* match_queue = nullptr;
  std::uint64_t base = 0;          // of the match queue
  std::uint64_t n = 0;             // receives that were posted, and messages that undecided receives have matched
  std::uint64_t order = 0;         // receives that were posted
  const Received* next = nullptr;  // the one that was used after this one last time

  std::uint64_t number() const { return base + n; }  // in the match queue
  void fetch_ahead() const {
    if (next != nullptr && next->match_queue != nullptr) __builtin_prefetch(next->match_queue, 1);
  }
};

// The data of a receive that MPI_Cancel needs.
struct QueuePlace {
  std::uint64_t comm = 0;        // id of its Matcher; no later communicator gets it
  Received* received = nullptr;  // the counts of its match queue
  std::uint64_t order = 0;       // 0: it is not counted
};

// The counts on one communicator. Any thread may call it. The first thread that sends is the only one whose sends are
// counted. If a second thread sends, the sends are closed. The same holds for receives.
class Matcher : public peer::Attachment {
 public:
  explicit Matcher(Handle comm);
  ~Matcher() override;

  // note_send counts a send that will be packed. place_send counts a send that may be direct. If it returns nothing,
  // the send must be packed.
  std::uint64_t note_send(int peer, int tag);
  std::optional<SequencedSend> place_send(int peer, int tag);
  // A receive that is about to be posted. A negative peer: from any source.
  struct Place {
    ipc::MatchQueue* match_queue = nullptr;  // null: it cannot be published
    std::uint64_t n = 0;                     // its number in the match queue
    int source = -1;                         // in MPI_COMM_WORLD
    bool is_own = false;
    bool is_in_doubt = false;  // an undecided receive may match its message
    std::uint64_t arrow = 0;   // number of its message's arrow in the timeline; 0: it has none
    QueuePlace queue_place{};
    UndecidedReceivePtr undecided{};  // decide() is called when the receive is complete
  };
  Place place_receive(int peer, int tag, bool is_published);
  // The same for a receive that is not published.
  Place note_receive(int peer, int tag);
  // A matched probe. Null: the receives are closed.
  UndecidedReceivePtr note_matched_probe(int peer, int tag) { return begin_undecided(peer, tag); }
  // A receive of this match queue may be cancelled: it becomes undecided. note_unseen_cancel: TEMPI will not see the
  // completion of the receive, so no later receive of the match queue is published.
  UndecidedReceivePtr note_cancel(int peer, int tag, Received* received);
  void note_unseen_cancel(Received* received);
  void close_sends(Outcome why);
  void close_receives(Outcome why);
  void close(Outcome why);
  bool claims() const { return !sends_are_closed_.load(); }
  bool publishes() const { return !receives_are_closed_.load(); }
  // The communicator belongs to TEMPI: no process probes for messages on it.
  void never_probe() { is_never_probed_.store(true); }
  // True: all members of the communicator are in one call, in which they post their receives. False: it has ended.
  void note_all_in_call(bool are_in_it) { are_in_call_.store(are_in_it); }
  // Closes the sends and the receives of all communicators.
  static void close_all(Outcome why) noexcept;
  // Calls fn(Matcher&), unless the communicator with this name() has ended.
  template <class Fn>
  static void with(std::uint64_t name, const Fn& fn) {
    const Known known;
    if (Matcher* const found = known.find(name)) fn(*found);
  }
  std::uint64_t name() const { return own_id_; }
  // The id in the match keys of messages to or from this rank of MPI_COMM_WORLD; 0: there is none.
  std::uint64_t id_with(int rank) const { return id_for(rank); }
  int rank_in_world(int peer) const { return peer::rank_in_world(comm_, peer); }

  // Called by UndecidedReceive: a message of this peer has matched an undecided receive.
  void count_matched(int peer, int tag);
  // Tells senders not to wait for a receive of this tag. False: the shared segment has no room for this.
  bool tell_open(int tag) noexcept;
  void tell_ended(int tag) noexcept;

 private:
  // Holds the lock of the list of matchers, so that no matcher ends meanwhile.
  class Known {
   public:
    Known();
    ~Known();
    Known(const Known&) = delete;
    Known& operator=(const Known&) = delete;
    Matcher* find(std::uint64_t name) const;
  };
  // The sender's counts for one (peer, tag), which is its key in the map.
  struct Sent {
    int rank = -1;  // in MPI_COMM_WORLD; -1: no direct messages
    ipc::Segment* receiver = nullptr;
    const ipc::MatchQueue* match_queue = nullptr;  // as SequencedSend::known_match_queue
    std::uint64_t n = 0;
    std::uint64_t* n_of_all_tags = nullptr;  // in sent_to_
    const Sent* next = nullptr;              // the one that was used after this one last time

    void fetch_ahead() const;
  };
  using Key = std::uint64_t;
  // A map that remembers its last entry. Programs repeat the order of their messages, so the shared memory of the next
  // entry is prefetched.
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
  bool may_have_match_queue(int rank) const { return rank >= 0 && id_for(rank) != 0; }
  bool is_of_other_kind(int peer, int tag);
  UndecidedReceivePtr begin_undecided(int peer, int tag);
  // Null: sends are closed, or there are too many peers and tags.
  Sent* count_send(int peer, int tag);
  Sent* add_sent(int peer, int tag);
  void look_for_receiver(Sent& sent) const;
  bool may_publish();
  std::uint64_t arrow_of(int source, int target, int tag, std::uint64_t n) const;
  std::uint64_t arrow_of(const Sent& sent, int tag) const;
  // Null: there are too many peers and tags.
  Received* find_received(int peer, int tag);
  Place place_counted(Received& received, int peer, int tag, bool is_published);
  void look_for_match_queue(Received& received, int tag, bool is_published) const;

  const Handle comm_;
  const int own_rank_;               // in MPI_COMM_WORLD
  const std::uint64_t id_, own_id_;  // id for messages between processes (0: none), and of this process to itself
  std::atomic<bool> sends_are_closed_{false}, receives_are_closed_{false}, is_never_probed_{false};
  std::atomic<bool> are_in_call_{false};
  std::atomic<std::thread::id> sender_{}, receiver_{};  // the threads that count
  Counts<Sent> sent_;
  Counts<Received> received_;
  std::unordered_map<int, std::uint64_t> sent_to_;  // messages of all tags, by peer
  std::unordered_map<int, bool> receives_any_tag_;  // by peer
  const std::shared_ptr<OpenReceives> open_ = std::make_shared<OpenReceives>();
};

// Null: TEMPI cannot learn when the communicator ends.
Matcher* matcher_on(Handle comm) noexcept;
// The handle may have any value. Null: no communicator with this handle has a matcher.
inline Matcher* known_matcher(Handle comm) noexcept {
  return static_cast<Matcher*>(peer::known_attachment(comm, peer::Attached::matcher));
}

}  // namespace tempi::message
