// The published receives of this process, and the sends that claim published receives.
//
// Glossary
//   match       MPI matches the n-th message of a match queue with its n-th receive
//   unmatched   a send whose receive has not been posted yet
//   (sequence number: transport/ipc/matcher.hpp; published receive, slot, match queue, claim:
//   transport/ipc/segment/segment.hpp)
//
// Invariants
//   A published receive can be claimed only after the receive was posted to the library. It is not published if the
//   receives of the communicator were closed since it was counted, because the receive of another thread may have been
//   posted between the two steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "pack/box_move.hpp"
#include "transport/ipc/bounce_buffer.hpp"
#include "transport/ipc/matcher.hpp"
#include "transport/ipc/segment/own_segment.hpp"

namespace tempi::message {

using ipc::PublishedState;

// A started receive whose buffer may be written by the sender. Its slot is given back when the receive is complete, or
// when the transfer that keeps the published receive for its next start ends (IpcState::last_published_receive).
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
  pack::End end{};  // the program's buffer, which is the receive's until it is complete

  std::unique_ptr<BounceBuffer> bounce_buffer{};  // the other place for its bytes
  std::optional<Error> failure{};                 // the bytes are lost

  std::int64_t bytes() const { return count * end.layout->size; }
  // Of a message that is written.
  std::int64_t written_bytes() const { return slot_.written.load(std::memory_order_relaxed); }
  ipc::Slot& slot() { return slot_; }
  // The receive has ended, and is posted again: from the same process into the same buffer.
  void renew(const Matcher::Place& place);
  // False: it ends.
  bool may_be_kept();
  // The library has the receive. False: it is not published.
  bool post() noexcept;
  // The receive is complete, or will be by a packed message. True: the sender has written the bytes. `has_come`: the
  // message has, so that a sender that has not ended its claim sent the FIN message before: waits for its kernel, in
  // MPI_Test, too.
  bool end_it(bool has_come) noexcept;
  // True if its sender has begun to write, and has not ended.
  bool is_claimed() const { return slot_.word.load() == word(PublishedState::claimed).bits(); }
  // True if its sender has not ended: it may begin to write, or has begun.
  bool is_open() const;
  // Queues the unpacking of what has arrived in the bounce buffer. False: that has failed.
  bool unpack_arrived() noexcept;
  // The receive is complete.
  bool is_ended() const { return is_ended_.load(); }
  // The program has freed an allocation: revokes the published ones of its memory that nobody has claimed.
  static void revoke_in(std::uint64_t allocation) noexcept;
  // Revokes those that are published of a receive and of later ones of its match queue. False: one is claimed, or was:
  // the messages up to that one have been sent.
  static bool revoke_from(const QueuePlace& receive) noexcept;
  // Revokes all. Those returned are claimed, or were.
  static std::vector<std::shared_ptr<PublishedReceive>> revoke_all() noexcept;

 private:
  std::uint16_t slot_number() const;
  ipc::PublishedWord word(PublishedState state) const;
  void publish() noexcept;
  bool revoke() noexcept;
  template <class Fn>
  static std::vector<std::shared_ptr<PublishedReceive>> revoke_if(const Fn& is_one) noexcept;

  ipc::Slot& slot_;
  ipc::MatchQueue* match_queue_;  // another one's when the communicator has ended
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

  // The bytes are written, or will arrive packed. Call it with the engine's lock. Without it, a second thread could
  // overwrite the slot's next published receive.
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
// Looks for the receive of a message, and claims it. In a match queue of all tags it does so only if
// `is_next`: no unmatched message to its receiver is before it.
ClaimedMatch find_match(const SequencedSend& sequenced, bool is_next) noexcept;

}  // namespace tempi::message
