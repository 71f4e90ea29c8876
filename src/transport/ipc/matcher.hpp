// The order of messages on a communicator, as both ends count it.
//
// Glossary
//   sequence number  the position of a send in its match queue: "the n-th message of this communicator, peer and tag",
//                    or of all tags
//   order            the position of a receive among all receives that were posted in its match queue, including
//                    cancelled ones
//   (published receive, slot, match queue, claim: transport/ipc/segment/segment.hpp; undecided:
//   transport/ipc/undecided.hpp)
//
// Invariants
//   Every message and every receive with a specific source is counted, whether TEMPI or the library handles it. The
//   counts are made in the order of the calls, and before the library's call. If a count is missed, the communicator is
//   closed to claims (sends) or to publishing (receives).
//   The number of a receive in its match queue is 1 + the receives that were posted there and not cancelled + the
//   messages of the match queue that undecided receives have matched. A receive is published only if no undecided
//   receive may match its message.
//   For each source, only one kind of receives is counted: those with a tag, or those with MPI_ANY_TAG. The first
//   receive decides. With MPI_ANY_TAG, the match queue is of all tags, and the sequence number of a message counts all
//   messages to the receiver. Receives of the other kind are undecided.
//   Receives are closed by a failed call, by a persistent wildcard receive that the library handles, and by a second
//   thread that receives. Sends are closed by a failed call, by a second thread that sends, and by a cancelled send.
//   Receives that were published before remain valid, because MPI matches these receives first.
//   A message is packed if its peer and tag are beyond the number of pairs that are counted.
//   Messages of a process to itself use its own shared segment, with a key that no other process uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/counters.hpp"
#include "peer/peer.hpp"
#include "transport/ipc/segment/own_segment.hpp"
#include "transport/ipc/undecided.hpp"

namespace tempi::message {

// The place of a send in its match queue.
struct SequencedSend {
  ipc::Segment* receiver;  // its shared segment
  ipc::MatchKey key;
  const ipc::MatchQueue* known_match_queue;  // found before, may belong to another key now; or null
  std::uint64_t n, n_of_all_tags;
  int rank;  // of the receiver, in MPI_COMM_WORLD
  bool is_own;
  bool is_never_probed;
  bool has_come;  // the receiver: it is in the call that posts its receive

  // The receiver probes for messages before it receives them. It may wait for this message.
  bool is_probed() const { return !is_never_probed && receiver->probes.load(std::memory_order_acquire) != 0; }
};

// The receives of one match queue.
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
  std::uint64_t base = 0;   // of the match queue
  std::uint64_t n = 0;      // receives and messages of undecided ones
  std::uint64_t order = 0;  // receives that were posted
  const Received* next = nullptr;

  std::uint64_t number() const { return base + n; }  // in the match queue
  void fetch_ahead() const {
    if (next != nullptr && next->match_queue != nullptr) __builtin_prefetch(next->match_queue, 1);
  }
};

// The data of a receive that MPI_Cancel needs.
struct QueuePlace {
  std::uint64_t comm = 0;  // id of its Matcher; no later communicator gets it
  Received* match_queue = nullptr;
  std::uint64_t order = 0;  // 0: it is not counted
};

// The counts on one communicator. Any thread may call it. Only the sends of the first thread that sends are counted; a
// second one closes the sends. The same holds for receives.
class Matcher : public peer::Attachment {
 public:
  explicit Matcher(Handle comm);
  ~Matcher() override;

  // note_send: a send that is packed. place_send: a send that may be direct; nothing: it must be packed.
  void note_send(int peer, int tag) { count_send(peer, tag); }
  std::optional<SequencedSend> place_send(int peer, int tag);
  // A receive that is about to be posted. A negative peer: from any source.
  struct Place {
    ipc::MatchQueue* match_queue = nullptr;  // null: it cannot be published
    std::uint64_t n = 0;                     // its number in the match queue
    int source = -1;                         // in MPI_COMM_WORLD
    bool is_own = false;
    bool is_in_doubt = false;  // an undecided receive may match its message
    std::uint64_t arrow = 0;   // of its message in the timeline; 0: it has none
    QueuePlace queue_place{};
    UndecidedReceivePtr undecided{};  // to be told when the receive is complete
  };
  Place place_receive(int peer, int tag, bool is_published);
  // The same of a receive that is not published.
  Place note_receive(int peer, int tag);
  // A matched probe. Null: the receives are closed.
  UndecidedReceivePtr note_matched_probe(int peer, int tag) { return begin_undecided(peer, tag); }
  // A receive of this match queue may be cancelled: it becomes undecided. If nobody sees its completion ("unseen"), no
  // later receive of the match queue is published.
  UndecidedReceivePtr note_cancel(int peer, int tag, Received* match_queue);
  void note_unseen_cancel(Received* match_queue);
  void close_sends(Outcome why);
  void close_receives(Outcome why);
  void close(Outcome why);
  bool claims() const { return !sends_are_closed_.load(); }
  bool publishes() const { return !receives_are_closed_.load(); }
  // A communicator of TEMPI: no process probes for messages on it.
  void never_probe() { is_never_probed_.store(true); }
  // All members of the communicator are in one call, in which they post their receives; or they have returned from it.
  void note_all_in_call(bool are_in_it) { are_in_call_.store(are_in_it); }
  // Closes the sends and the receives of all communicators.
  static void close_all(Outcome why) noexcept;
  // fn(Matcher&), unless the communicator of that name has ended.
  template <class Fn>
  static void with(std::uint64_t name, const Fn& fn) {
    const Known known;
    if (Matcher* const found = known.find(name)) fn(*found);
  }
  std::uint64_t name() const { return own_id_; }
  // Of messages with this rank of MPI_COMM_WORLD; 0: none.
  std::uint64_t id_with(int rank) const { return id_for(rank); }
  int rank_in_world(int peer) const { return peer::rank_in_world(comm_, peer); }

  // For Undecided. A message of this peer has matched an undecided receive.
  void count_matched(int peer, int tag);
  // Tells senders not to wait for a receive of this tag. False: the shared segment has no room for this.
  bool tell_open(int tag) noexcept;
  void tell_ended(int tag) noexcept;

 private:
  // Holds the lock of the list of matchers: none of them ends meanwhile.
  class Known {
   public:
    Known();
    ~Known();
    Known(const Known&) = delete;
    Known& operator=(const Known&) = delete;
    Matcher* find(std::uint64_t name) const;
  };
  // One (peer, tag), by which the map is keyed.
  struct Sent {
    int rank = -1;  // in MPI_COMM_WORLD; -1: no direct messages
    ipc::Segment* receiver = nullptr;
    const ipc::MatchQueue* match_queue = nullptr;  // as SequencedSend::known_match_queue
    std::uint64_t n = 0;
    std::uint64_t* n_of_all_tags = nullptr;  // in sent_to_
    const Sent* next = nullptr;              // came behind it last time

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
  void note_arrow(const Sent& sent, int tag) const;
  // Null: there are too many peers and tags.
  Received* find_received(int peer, int tag);
  Place place_counted(Received& received, int peer, int tag, bool is_published);
  void look_for_match_queue(Received& received, int tag, bool is_published) const;

  const Handle comm_;
  const int own_rank_;               // in MPI_COMM_WORLD
  const std::uint64_t id_, own_id_;  // among processes (0: none), and of messages to oneself
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
// The handle may have any value. Null: it has no matcher yet.
inline Matcher* known_matcher(Handle comm) noexcept {
  return static_cast<Matcher*>(peer::known_attachment(comm, peer::Attached::matcher));
}

// The job whose shared segments these are: base/launcher.hpp.
const std::string& own_job();

}  // namespace tempi::message
