// Unmatched sends: pending sends whose receives are not posted yet. They wait for a published receive, outside of the
// engine's queue.
//
// Invariants
//   A send is packed when its match timeout ends, or earlier. The match timeout begins with the first call that may
//   block for the send. Without such a call, it begins with the send. If the receiver probes, only blocking sends wait.
//   They wait for a short time, and rarely after waits without success.
//   A call that ends only with a send (MPI_Send, MPI_Wait) needs the send. A needed send has a long match timeout,
//   because the library's rendezvous would also wait for the receive. Calls that do not need the send have a short
//   match timeout: perhaps they must end before its receive can be posted. The other sends of the process start during
//   this wait.
//   Only some direct sends may pass an unmatched send to the same peer on the same communicator: sends with another tag
//   whose receives name this tag. MPI matches such a receive with no other message. A send does not search for its
//   receive while an earlier send with the same communicator, peer and tag is unmatched.
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

// The unmatched sends of its communicator and peer that are before a send.
enum class Before : std::uint8_t { none, other_tags, its_tag };

class UnmatchedSends {
 public:
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  void add(const MessagePtr& message);
  // This thread's call ends only with these requests: it needs their sends.
  void note_needed(int count, const void* requests);
  // All that are left are needed by calls of other threads, for which this one does not wait.
  bool are_others() const;
  // The receive of a send has been found.
  void note_matched(const Transfer& transfer);
  // Counts the send. It does not wait (false) in three cases:
  // - the receiver probes, and the send does not block
  // - the receiver probes, and the last waits for it were in vain
  // - the last receives of the match queue were not published, or were out of reach
  bool takes_wait(Message& message);
  Before before(Message& message) const;
  // Takes those out that are unmatched no more: with a put, or to be packed. In the order in which they are to start.
  std::vector<MessagePtr> take_matched(bool waits);
  // Takes those of one peer out, to be packed.
  std::vector<MessagePtr> take(Handle comm, int peer);

 private:
  using Clock = std::chrono::steady_clock;
  struct Unmatched {
    MessagePtr message;
    Clock::time_point begin;
    bool is_awaited = false;
    std::optional<std::thread::id> needed_by{};
  };
  // Waits for the receives of a process that probes, or of a match queue.
  struct Waits {
    unsigned n_in_vain = 0;  // since the last one that was not
    unsigned n_left_out = 0;

    bool are_worth_it();
  };
  // The last match queue with this place in the table.
  struct Unpublished {
    Receiver receiver{};
    Waits waits{};
    Waits of_needed{};  // the long ones
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
