// Early sends: pending ones whose receives have not been posted. They wait for an offer outside of the engine's queue.
//
// Invariants
//   A send is packed at the end of its patience at the latest, which begins with the first call that may block for it;
//   without such a call it begins with the send. For a receiver that probes only blocking sends wait, shortly, and few
//   where that was in vain.
//   Of the sends to one peer on one communicator only direct ones of other tags pass an early one, if their receives
//   were posted with a specific tag, which MPI matches with no other message. A send does not look for its receive
//   while an early one of its communicator, peer and tag is before it.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <unordered_map>
#include <vector>

#include "message/message.hpp"

namespace tempi::message {

// The early sends of its communicator and peer that are before a send.
enum class Before : std::uint8_t { none, other_tags, its_tag };

class EarlySends {
 public:
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  void add(const MessagePtr& message);
  // The receive of a message has been found. `is_direct`: it was published, and the message is written into it.
  void note_met(const Turn& turn, bool is_direct);
  // Counts. False: its receiver probes, and it does not block; or such waits were in vain; or the receives of its line
  // are not published, or out of reach.
  bool takes_wait(Message& message);
  Before before(Message& message) const;
  // Takes those out that are early no more: with a transfer, or to be packed. In the order in which they are to start.
  std::vector<MessagePtr> take_met(bool waits);
  // Takes those of one peer out, to be packed.
  std::vector<MessagePtr> take(Handle comm, int peer);

 private:
  using Clock = std::chrono::steady_clock;
  struct Early {
    MessagePtr message;
    Clock::time_point begin;
    bool is_awaited = false;
  };
  // Waits for the receives of a process that probes, or of a line.
  struct Waits {
    unsigned n_in_vain = 0;  // since the last one that was not
    unsigned n_left_out = 0;

    bool are_worth_it();
  };
  // The last line with this place in the table.
  struct Unpublished {
    const mailbox::Contents* receiver = nullptr;
    mailbox::LineKey line{};
    Waits waits{};
  };
  static constexpr std::size_t kUnpublished = 256;
  Unpublished& unpublished(const Turn& turn);
  static bool is_over(Early& early, Clock::time_point now, bool waits);
  bool is_met(Early& early, Clock::time_point now, bool waits);

  std::deque<Early> all_;  // in the order of the program's calls
  std::unordered_map<const mailbox::Contents*, Waits> probers_;
  std::array<Unpublished, kUnpublished> unpublished_{};
};

}  // namespace tempi::message
