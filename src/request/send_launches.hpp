// The launches that pack pending sends, or write direct ones: sends that are queued together share launches. Puts share
// a launch only if the same puts were queued together before (pack/merged.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "request/launch_batch.hpp"

namespace tempi::message {

// With the lock of the requests.
class SendLaunches {
 public:
  LaunchBatch& batch() { return batch_; }
  const LaunchBatch& batch() const { return batch_; }

  // From now on, sends are held: they queue and do not start, so that they share launches.
  void hold() {
    if (n_holds_++ == 0) held_bytes_ = 0;
  }
  void release() { --n_holds_; }
  bool are_held() const { return n_holds_ > 0; }
  void count_held(const Message& message) { held_bytes_ += message.outs.bytes(); }
  // True: packing the held sends takes little longer than a launch, so that a call may wait for them.
  bool are_short() const;
  static bool is_short(const Message& message);

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  std::int64_t bytes() const { return bytes_; }
  // The message waits for its launch.
  void add(Message& message);
  // The same, and launches the waiting messages if they fill a launch. Also launches the first message of a batch,
  // unless more messages are expected. Messages that are queued while a launch runs share the next launch.
  void queue(Message& message, bool is_only_pending);
  void launch() noexcept;

 private:
  bool is_running() const noexcept;

  std::vector<Message*> waiting_;
  std::int64_t bytes_ = 0;
  bool only_direct_ = true;     // all of waiting_ are puts
  device::MarkPtr launched_{};  // the end of the last launch
  int n_holds_ = 0;
  std::int64_t held_bytes_ = 0;  // posted while they were held
  LaunchBatch batch_;            // the sends that were posted since a call last started pending sends
};

}  // namespace tempi::message
