#include "request/pending_sends.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <tuple>

#include "base/yield_until.hpp"
#include "mpi/progress.hpp"
#include "mpi/real.hpp"
#include "request/grouped_packing.hpp"
#include "request/managed_requests.hpp"
#include "request/progress_mode.hpp"
#include "request/progress_thread.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

using Clock = std::chrono::steady_clock;

// The wait of direct messages for others: see match_unmatched().
constexpr std::chrono::microseconds kLaunchTakes{8};
constexpr std::int64_t kBytesPerMicrosecond = 1 << 20;  // half of what a kernel moves

}  // namespace

PendingSends& PendingSends::get() {
  static auto& sends = *new PendingSends;  // never destroyed: threads may use it while the process exits
  return sends;
}

void PendingSends::post(Message& message) {
  const bool is_packed =
      !message.outs.all([](const Transfer& transfer) { return transfer.packed_buffer.can_be_queued(); });
  if (is_packed) pack_now(message);
  const RequestLock lock;
  const MessagePtr lasting = ManagedRequests::get().find(message.request);  // an error handler may complete it
  if (!is_packed && !launches_.are_held()) launches_.batch().add(message);
  Transfer& transfer = message.outs.first();
  transfer.match = notes_messages() ? transfer.transport.post_send(message.comm, transfer, !is_packed) : Match{};
  message.state.become(MessageState::pending);
  const Before others = transfer.match.is_unmatched() ? unmatched_.before(message) : Before::none;
  if (transfer.match.is_unmatched() && others != Before::its_tag) {
    transfer.match = transfer.transport.match(transfer, others == Before::none);
    if (!transfer.match.is_unmatched()) unmatched_.note_matched(transfer);
  }
  if (transfer.match.is_unmatched() && !unmatched_.takes_wait(message)) transfer.match = {};
  if (transfer.match.is_unmatched()) return leave_unmatched(lasting);
  if (!transfer.match.is_put()) pack_unmatched(message.comm, transfer.peer);
  if (is_packed && pending_.empty()) return start(message);
  const bool starts_now = starts_in_its_call(message);
  if (starts_now) launches_.batch().note_awaited();
  pending_.push_back(lasting);
  if (!any()) count_work();  // before a FIN message is sent
  if (!is_packed) launches_.queue(message, pending_.size() == 1);
  launches_.count_held(message);
  if (!launches_.are_held()) {
    start_or_leave(starts_now);
    count_work();
  }
}

void PendingSends::leave_unmatched(const MessagePtr& message) {
  unmatched_.add(message);
  launches_.count_held(*message);
  count_work();
  if (progress_mode() == ProgressMode::thread) wake_progress_thread();
}

// Sends that were unmatched join the queue.
void PendingSends::join(const std::vector<MessagePtr>& messages) noexcept {
  for (const MessagePtr& message : messages) {
    pending_.push_back(message);
    launches_.add(*message);
  }
}

// Ranks that exchange messages with each other post their receives at about the same time: those that are matched wait
// a little for those that are not, and share their launch. That takes less than the launch that it saves, or a part of
// what runs side by side then: messages between GPUs and within one.
void PendingSends::match_unmatched(bool waits) noexcept {
  if (unmatched_.empty()) return;
  join(unmatched_.take_matched(waits));
  if (!waits || launches_.empty()) return;
  const auto end = Clock::now() + kLaunchTakes + std::chrono::microseconds(launches_.bytes() / kBytesPerMicrosecond);
  while (!unmatched_.empty() && Clock::now() < end) join(unmatched_.take_matched(waits));
}

void PendingSends::pack_unmatched(Handle comm, int peer) noexcept {
  if (!unmatched_.empty()) join(unmatched_.take(comm, peer));
}

// The rest starts with the next call, or by a thread.
void PendingSends::start_or_leave(bool starts_now) noexcept {
  if (starts_now || (progress_mode() == ProgressMode::thread && !wake_progress_thread())) start_packed(true);
}

void PendingSends::hold() noexcept {
  const RequestLock lock;
  launches_.hold();
}

void PendingSends::release() noexcept {
  const RequestLock lock;
  launches_.release();
  if (launches_.are_held() || (pending_.empty() && unmatched_.empty())) return;
  match_unmatched(true);
  launches_.launch();
  start_or_leave(progress_mode() == ProgressMode::same_call || (unmatched_.empty() && launches_.are_short()));
  count_work();
}

// Only the first of a launch batch of sends is waited for: the others share a launch.
bool PendingSends::starts_in_its_call(const Message& message) const noexcept {
  if (progress_mode() == ProgressMode::same_call) return true;
  return pending_.empty() && launches_.batch().may_await() && SendLaunches::is_short(message);
}

void PendingSends::note_needed(int count, const void* requests) noexcept {
  const RequestLock lock;
  if (requests != nullptr && !unmatched_.empty()) unmatched_.note_needed(count, requests);
}

// Other threads may have the lock while unmatched sends wait, and the library goes on: their receivers may wait for
// messages, or FIN messages, that it still has.
void PendingSends::start_pending(bool waits) noexcept {
  // Not exact if several threads make calls at the same time.
  n_calls_.store(n_calls() + 1, std::memory_order_relaxed);
  yield_until(kForever, [&] { return start_what_can_be(waits) || !waits; }, [] { let_library_go_on(); });
}

// False: sends are unmatched still. Others are not waited for then: unmatched ones are launched as soon as they match.
bool PendingSends::start_what_can_be(bool waits) noexcept {
  const RequestLock lock;
  launches_.batch().end();
  if (!waits) end_early_fins(false);
  match_unmatched(waits);
  const bool is_done = unmatched_.are_others();
  start_packed(waits && is_done);
  count_work();
  ManagedRequests::get().tend_orphans(false);
  return is_done;
}

void PendingSends::start_before(Handle comm, int peer) noexcept {
  const RequestLock lock;
  launches_.batch().end();
  pack_unmatched(comm, peer);
  start_packed(true);
  count_work();
}

// A start may add to the queue, through the program's error handler.
void PendingSends::start_packed(bool waits) noexcept {
  const auto may_start = [&] {
    launches_.launch();
    if (waits) send_first_early_fins();
    if (waits && !pending_.empty()) early_fins_.end_to_others();  // what is behind may take long
    return !pending_.empty() && is_packed(*pending_.front(), waits);
  };
  while (may_start()) {
    const MessagePtr message = std::move(pending_.front());
    pending_.pop_front();
    start(*message);
  }
  if (waits) early_fins_.end_to_others();
}

// Those that are queued behind others wait for these: they may be of the same match queue.
void PendingSends::send_first_early_fins() noexcept {
  while (!pending_.empty() && may_send_fin_early(pending_.front()->outs.first())) {
    const MessagePtr message = std::move(pending_.front());
    pending_.pop_front();
    if (!early_fins_.send(message)) fail(*message);
    launches_.launch();  // an error handler of the program may have sent more
  }
}

void PendingSends::end_early_fins(bool waits) noexcept {
  const RequestLock lock;
  early_fins_.end(waits);
  count_work();
}

PendingSends::Look PendingSends::look_after_pending() noexcept {
  const std::unique_lock lock(request_mutex(), std::try_to_lock);
  if (!lock) return Look::by_others;
  const auto left = [&] {
    return std::tuple(pending_.size() + early_fins_.size(), unmatched_.size(), launches_.size());
  };
  const auto before = left();
  end_early_fins(false);
  if (!unmatched_.empty()) join(unmatched_.take_matched(false));
  start_packed(false);
  count_work();
  return left() != before ? Look::useful : Look::in_vain;
}

bool PendingSends::has_pending() noexcept {
  const RequestLock lock;
  return !pending_.empty() || !early_fins_.empty() || !unmatched_.empty();
}

void PendingSends::count_work() noexcept {
  const std::size_t n_sends = pending_.size() + early_fins_.size() + unmatched_.size();
  n_work_.store(n_sends + std::size_t{launches_.batch().is_open()}, std::memory_order_release);
}

// A message that is not sent shifts those behind it: they match other receives than those that they have claimed.
void PendingSends::fail(Message& failed) noexcept {
  lose_order(failed.comm);
  for (const MessagePtr& message : pending_) {
    Transfer& transfer = message->outs.first();
    if (!transfer.match.is_put() || key_of(message->comm) != key_of(failed.comm)) continue;
    is_packed(*message, true);
    pack_now(*message);
  }
  pack_unmatched(failed.comm, failed.outs.first().peer);
  failed.state.become(MessageState::failed);
}

void PendingSends::start(Message& message) noexcept {
  const bool is_put = !message.outs.empty() && message.outs.first().match.is_put();
  if (is_put) {
    if (!deliver(message)) return fail(message);
    return message.state.become(MessageState::delivered);
  }
  message.outs.each([](Transfer& transfer) { transfer.was_direct = false; });
  if (!message.failure) message.start_code = message.mpi.MPI_Start(&message.request);
  if (message.failure || message.start_code != MPI_SUCCESS) return fail(message);
  message.state.become(MessageState::started);
}

// Too late for a put: the receiver's buffer is being written.
bool PendingSends::withdraw(Handle request) noexcept {
  const RequestLock lock;
  const auto is_it = [&](const MessagePtr& message) { return key_of(message->request) == key_of(request); };
  const auto found = std::find_if(pending_.begin(), pending_.end(), is_it);
  if (found == pending_.end()) return false;
  if ((*found)->outs.first().match.is_put()) {
    start_packed(true);
    count_work();
    return true;
  }
  launches_.launch();
  const MessagePtr message = *found;
  is_packed(*message, true);
  pending_.erase(found);
  count_work();
  message->state.become(MessageState::withdrawn);
  return true;
}

}  // namespace tempi::message
