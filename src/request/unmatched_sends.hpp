// Unmatched sends: pending sends whose receives are not posted yet. They wait for a published receive, outside of the
// queue of PendingSends.
//
// Invariants
//   A send is packed when its match timeout ends, or earlier. The match timeout begins with the first call that may
//   block for the send. Without such a call, it begins with the send. If the receiver probes, only blocking sends wait.
//   They wait for a short time, and rarely after waits without success.
//   A call that returns only when a send is complete (MPI_Send, MPI_Wait) needs the send. A needed send has a long
//   match timeout, because the library's rendezvous would also wait for the receive. For other sends the match timeout
//   is short: perhaps the call must return before the receive of the send can be posted. The other sends of the process
//   start during this wait.
//   A direct send may pass an unmatched send to the same peer on the same communicator only if it has another tag, and
//   its receive names this tag, because MPI does not match such a receive with the unmatched send. A send does not
//   search for its receive while an earlier send with the same communicator, peer and tag is unmatched.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "request/message.hpp"

namespace tempi::message {

// Which unmatched sends to the same peer on the same communicator are before a send: none, some with other tags, or
// some with its tag.
enum class Before : std::uint8_t { none, other_tags, its_tag };

class UnmatchedSends {
 public:
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  void add(const MessagePtr& message);
  // The call of this thread returns only when these requests are complete: it needs their sends.
  void note_needed(int count, const void* requests);
  // True: all unmatched sends are needed by calls of other threads. This thread does not wait for them.
  bool are_others() const;
  // The receive of a send has been found.
  void note_matched(const Transfer& transfer);
  // Counts the send. False: it does not wait for its receive. There are three such cases:
  // - the receiver probes, and the call of the send does not block
  // - the receiver probes, and the last waits for its receives were unsuccessful
  // - the last receives of the match queue were not published, or this process could not access their memory
  bool takes_wait(Message& message);
  Before before(Message& message) const;
  // Removes and returns the sends that now have a put or will be packed, in the order in which they must start.
  std::vector<MessagePtr> take_matched(bool waits);
  // Removes and returns the sends to one peer, which will be packed.
  std::vector<MessagePtr> take(Handle comm, int peer);

 private:
  using Clock = std::chrono::steady_clock;
  struct Unmatched {
    MessagePtr message;
    Clock::time_point begin;
    bool is_awaited = false;
    std::optional<std::thread::id> needed_by{};
  };
  // Counts the waits for receives of one process that probes, or of one match queue.
  struct Waits {
    unsigned n_in_vain = 0;   // unsuccessful waits since the last successful one
    unsigned n_hopeless = 0;  // sends whose wait is not expected to succeed; a few of them wait

    bool are_worth_it();
  };
  // An entry of a hash table of match queues whose receives were not published. Each entry holds one match queue: a new
  // match queue replaces an older one with the same hash.
  struct Unpublished {
    Receiver receiver{};
    Waits waits{};
    Waits of_needed{};  // waits of needed sends, with the long match timeout
  };
  static constexpr std::size_t kUnpublished = 256;
  Unpublished& unpublished(const Receiver& receiver);
  void count_in_vain(const Receiver& receiver, Waits Unpublished::* waits);
  void count_timeout(const Unmatched& unmatched);
  bool may_wait_long(const Message& message);
  static bool is_over(Unmatched& unmatched, Clock::time_point now, bool waits);
  bool is_matched(Unmatched& unmatched, Clock::time_point now, bool waits);

  std::deque<Unmatched> all_;  // in the order of the program's calls
  std::unordered_map<const void*, Waits> probing_receivers_;
  std::array<Unpublished, kUnpublished> unpublished_{};
};

}  // namespace tempi::message
