#include "request/send_launches.hpp"

#include "request/grouped_packing.hpp"

namespace tempi::message {
namespace {

// Limits of the small packs that wait to share a launch.
constexpr std::size_t kMostWaiting = 64;
constexpr std::int64_t kMostWaitingBytes = 256 << 10;

// Largest pack that is waited for in its own call, if it is the first of a launch batch: it takes little more than its
// launch.
constexpr std::int64_t kMostAwaitedBytes = 256 << 10;

}  // namespace

bool SendLaunches::are_short() const { return held_bytes_ <= kMostAwaitedBytes; }

bool SendLaunches::is_short(const Message& message) { return message.outs.bytes() <= kMostAwaitedBytes; }

void SendLaunches::add(Message& message) {
  waiting_.push_back(&message);
  bytes_ += message.outs.bytes();
  only_direct_ = only_direct_ && message.outs.first().match.is_put();
}

void SendLaunches::queue(Message& message, bool is_only_pending) {
  const bool is_direct = message.outs.first().match.is_put();
  add(message);
  if (are_held() && is_direct) return;
  const bool is_first = is_only_pending && !are_held() && !batch_.expects_several();
  const bool is_much = waiting_.size() >= kMostWaiting || bytes_ >= kMostWaitingBytes;
  const bool waits = is_much && only_direct_ && batch_.may_wait();
  if (is_first || (is_much && !waits && !is_running())) launch();
  if (is_direct && !are_held()) batch_.note_direct(is_much);
}

bool SendLaunches::is_running() const noexcept try { return launched_ && !launched_->reached(); } catch (...) {
  return false;  // the call that waits for it gets the error
}

void SendLaunches::launch() noexcept {
  if (waiting_.empty()) return;
  pack_grouped(waiting_);
  const auto& last = waiting_.back()->outs.first().queued;
  launched_ = last ? last->mark : nullptr;
  waiting_.clear();
  bytes_ = 0;
  only_direct_ = true;
}

}  // namespace tempi::message
