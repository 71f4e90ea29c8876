// A launch batch: consecutive sends of the program before a call that waits for them or queries them.
//
// The first send of a launch batch starts in its call. The other sends only queue, and share launches. If the last
// batch with several sends began with the same communicator, peer and tag, the first send also queues. Direct messages
// of any size queue until the batch ends, because boxes that use the same cache lines are merged in one launch. There
// are two exceptions. Direct messages do not wait if, in the last launch batch, the program
// computed between the sends and the end of the batch. Direct messages never wait longer than
// kLongest.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "request/message.hpp"

namespace tempi::message {

class LaunchBatch {
 public:
  void add(Message& message) {
    if (n_++ == 0) first_ = name_of(message);
  }
  // A send of the batch was waited for in its own call.
  void note_awaited() { was_awaited_ = true; }
  bool may_await() const { return !was_awaited_ && !expects_several(); }
  bool expects_several() const { return first_ == first_of_several_; }
  bool is_open() const { return n_ > 0; }
  // True if direct messages that fill a launch may still wait for the end of the batch.
  bool may_wait() const {
    return expects_several() && !ends_late_ && (!enough_since_ || Clock::now() - *enough_since_ < kLongest);
  }
  // Called after each direct send. `is_enough`: the queued sends fill a launch. From then on, the time of the last
  // direct send is recorded.
  void note_direct(bool is_enough) {
    if (!enough_since_ && !is_enough) return;
    last_direct_ = Clock::now();
    if (!enough_since_) enough_since_ = last_direct_;
  }

  void end() {
    if (enough_since_) ends_late_ = Clock::now() - last_direct_ > kSoon;
    enough_since_.reset();
    if (n_ > 1) first_of_several_ = first_;
    else if (n_ == 1 && expects_several()) first_of_several_ = {};
    n_ = 0;
    was_awaited_ = false;
  }

 private:
  struct Name {
    Handle comm = 0;
    int peer = MPI_PROC_NULL, tag = MPI_ANY_TAG;
    bool operator==(const Name&) const = default;
  };
  static Name name_of(Message& message) {
    const Transfer& transfer = message.outs.first();
    return {key_of(message.comm), transfer.peer, transfer.tag};
  }

  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kSoon{100};      // the time of a large launch
  static constexpr std::chrono::microseconds kLongest{1000};  // the time of the calls of a launch batch of many sends

  std::size_t n_ = 0;
  bool was_awaited_ = false, ends_late_ = false;
  std::optional<Clock::time_point> enough_since_{};
  Clock::time_point last_direct_{};
  Name first_{}, first_of_several_{};
};

}  // namespace tempi::message
