#include "collective/partitioned_rounds.hpp"

#include <mutex>

#include "base/error.hpp"
#include "collective/partitioned_work.hpp"
#include "collective/wait_until.hpp"

namespace tempi::collective {
namespace {

using message::Message;

constexpr std::chrono::milliseconds kBetweenLooks{20};  // at whether the other process lives

}  // namespace

bool PartitionedRounds::start() {
  if (!begin_round()) return false;
  if (is_pending()) PartitionedWork::get().note_pending(*this, library_);
  return true;
}

bool PartitionedRounds::begin_round() {
  const std::lock_guard lock(mutex_);
  ++round_;
  failure_.reset();
  if (end() == nullptr || demands_library_ || !end()->is_connected()) return false;
  next_look_ = Clock::now() + kBetweenLooks;
  way_ = begin();
  is_active_ = way_ != Way::library;
  return is_active_;
}

bool PartitionedRounds::is_same_buffer() {
  device::Location seen;
  const bool is_same = !transfer_.packed_buffer.look_again(seen);
  transfer_.packed_buffer.come_after_streams();
  return is_same;
}

void PartitionedRounds::step(bool in_call) noexcept try {
  if (!is_carried_here() || failure_) return;
  if (way_ == Way::waiting) way_ = way_of_receiver();
  if (way_ == Way::puts) go_on_with_puts();
  if (way_ == Way::demanded && in_call) begin_library();
} catch (...) {
  failure_.emplace(caught_error());
}

void PartitionedRounds::begin_library() {
  demands_library_ = true;
  way_ = Way::library;
  if (library_.start_request() != MPI_SUCCESS)
    throw Error(ErrorKind::unexpected, "the library refuses to start a partitioned request");
  make_library_ready();
}

void PartitionedRounds::go_on(bool in_call) noexcept {
  const std::lock_guard lock(mutex_);
  step(in_call);
}

bool PartitionedRounds::is_pending() noexcept {
  const std::lock_guard lock(mutex_);
  return is_carried_here() && !failure_ &&
         (way_ == Way::demanded || has_unput() || (is_receive() && way_ == Way::puts));
}

bool PartitionedRounds::has_work_for_thread() noexcept {
  const std::lock_guard lock(mutex_);
  return is_carried_here() && !failure_ && has_unput() && way_ != Way::demanded;
}

// Makes the steps that are possible. True: the round has ended.
bool PartitionedRounds::is_complete(Message& message) noexcept {
  step(true);
  try {
    const bool is_library = way_ == Way::library;
    if (!failure_ && !(is_library ? library_.has_ended(message.start_code) : way_ == Way::puts && are_puts_complete()))
      return false;
  } catch (...) {
    failure_.emplace(caught_error());
  }
  if (failure_) message.failure = std::move(failure_);
  is_active_ = false;
  library_.note_end();
  return true;
}

// True: the process at the other end has ended.
bool PartitionedRounds::has_lost_other() {
  if (Clock::now() < next_look_) return false;
  next_look_ = Clock::now() + kBetweenLooks;
  return is_carried_here() && end()->is_lost();
}

bool PartitionedRounds::look(Message& message) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_complete(message)) return true;
  if (!has_lost_other()) return false;
  if (!is_complete(message) && needs_other())
    failure_.emplace(ErrorKind::lost, "the process at the other end of a partitioned message has ended");
  return is_complete(message);
}

bool PartitionedRounds::has_ended(Message& message, bool waits) noexcept try {
  return waits ? wait_until(kForever, [&] { return look(message); }) : look(message);
} catch (const Refused& refused) {
  message.start_code = refused.code;
  return true;
}

}  // namespace tempi::collective
