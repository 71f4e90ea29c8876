// The published receives of this process, and the sends that claim published receives.
//
// Glossary
//   match       MPI matches the n-th message of a match queue with its n-th receive
//   unmatched   a send whose receive has not been posted yet
//   (sequence number: transport/ipc/matcher.hpp; published receive, slot, match queue, claim:
//   segment/segment.hpp)
//
// Invariants
//   A receive is first counted, then posted to the library, then published, so that a sender claims only receives that
//   the library has. If the receives of the communicator were closed between these steps, the receive is not published,
//   because another thread may have posted a receive in between.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "pack/box_move.hpp"
#include "segment/own_segment.hpp"
#include "transport/ipc/bounce_buffer.hpp"
#include "transport/ipc/matcher.hpp"

namespace tempi::message {

using ipc::PublishedState;

// A started receive into whose buffer the sender may write. Its slot is given back when the receive is complete. A
// transfer of a persistent receive may keep the slot for the next start (IpcState::last_published_receive), until the
// transfer ends.
class PublishedReceive : public std::enable_shared_from_this<PublishedReceive> {
 public:
  PublishedReceive(ipc::Slot& slot, const Matcher::Place& place)
      : slot_(slot), match_queue_(place.match_queue), source_(place.source), n_(place.n), posted_(place.queue_place) {}
  ~PublishedReceive();
  PublishedReceive(const PublishedReceive&) = delete;
  PublishedReceive& operator=(const PublishedReceive&) = delete;

  const Matcher* counted_by = nullptr;  // set before each post()

  // For senders in this process.
  pack::PreparedPtr prepared{};
  std::int64_t count = 0;
  pack::End end{};  // the program's buffer

  std::unique_ptr<BounceBuffer> bounce_buffer{};  // where the sender may put the packed bytes instead
  std::optional<Error> failure{};                 // the bytes are lost

  std::int64_t bytes() const { return count * end.layout->size; }
  // The size of the message that the sender has written.
  std::int64_t written_bytes() const { return slot_.written.load(std::memory_order_relaxed); }
  ipc::Slot& slot() { return slot_; }
  bool is_own() const { return slot_.own != nullptr; }  // from this process
  // The receive has ended, and is posted again: from the same process into the same buffer.
  void renew(const Matcher::Place& place);
  // False: the object must be destroyed; it cannot be renewed.
  bool may_be_kept();
  // Publishes the receive, which was posted to the library before. False: it is not published.
  bool post() noexcept;
  // The receive is complete, or a packed message will complete it. True: the sender has written the bytes. `has_come`:
  // the library's message has arrived. If the sender has not ended its claim then, it has sent an early FIN, and this
  // function waits for the sender's kernel, also in MPI_Test.
  bool end_it(bool has_come) noexcept;
  // True if the sender has begun to write, and has not finished.
  bool is_claimed() const { return slot_.word.load() == word(PublishedState::claimed).bits(); }
  // True if the sender may still begin to write, or has begun and not finished.
  bool is_open() const;
  // Queues the unpacking of the bytes that have arrived in the bounce buffer. False: this has failed.
  bool unpack_arrived() noexcept;
  // The receive is complete.
  bool is_ended() const { return is_ended_.load(); }
  // The program has freed an allocation: revokes the published receives into it that no sender has claimed.
  static void revoke_in(std::uint64_t allocation) noexcept;
  // Revokes the published receives of a match queue from `receive` on. False: a sender has claimed one of them, so the
  // messages up to this one have been sent.
  static bool revoke_from(const QueuePlace& receive) noexcept;
  // Revokes all published receives. Returns those that senders have claimed.
  static std::vector<std::shared_ptr<PublishedReceive>> revoke_all() noexcept;

 private:
  std::uint16_t slot_number() const;
  ipc::PublishedWord word(PublishedState state) const;
  void publish() noexcept;
  bool revoke() noexcept;
  template <class Fn>
  static std::vector<std::shared_ptr<PublishedReceive>> revoke_if(const Fn& is_one) noexcept;

  ipc::Slot& slot_;
  ipc::MatchQueue* match_queue_;  // may belong to another communicator after this one has ended
  int source_;                    // in MPI_COMM_WORLD
  std::uint64_t n_;
  QueuePlace posted_;
  bool is_posted_ = false, was_written_ = false, is_not_importable_ = false;
  std::atomic<bool> is_ended_{false};
};
using PublishedReceivePtr = std::shared_ptr<PublishedReceive>;

// The published receive that a send has claimed.
struct Claim {
  ipc::Slot* slot;
  ipc::PublishedWord word;

  // The bytes are written, or will arrive packed. The caller holds the lock of the requests. Without it, a second
  // thread could overwrite the next published receive of the slot.
  void end(bool is_written) const {
    slot->step_alone(word, is_written ? PublishedState::written : PublishedState::declined);
  }
  // The bytes are neither written nor packed, although the FIN message has been sent.
  void lose() const { slot->step_alone(word, PublishedState::lost); }
  // The FIN message has not been sent, although the bytes are written.
  void take_back() const { slot->step(word.in(PublishedState::written), PublishedState::declined); }
};

enum class MatchResult : std::uint8_t {
  unmatched,  // the receive has not been posted
  claimed,    // a published receive
  nothing,    // the message is packed
};
struct ClaimedMatch {
  MatchResult matched;
  Claim claim{};
};
// Searches for the receive of a message, and claims it. In a match queue of all tags, it does so only with `is_next`:
// there is no earlier unmatched message to the receiver.
ClaimedMatch find_match(const SequencedSend& sequenced, bool is_next) noexcept;

}  // namespace tempi::message
