#include "request/engine.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "base/call_lock.hpp"
#include "base/yield_until.hpp"
#include "mpi/progress.hpp"
#include "mpi/real.hpp"
#include "request/grouped_packing.hpp"
#include "request/progress_mode.hpp"
#include "request/progress_thread.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

// Limits of the small packs that wait to share a launch.
constexpr std::size_t kMostWaiting = 64;
constexpr std::int64_t kMostWaitingBytes = 256 << 10;

// The wait of direct messages for others: see match_unmatched().
constexpr std::chrono::microseconds kLaunchTakes{8};
constexpr std::int64_t kBytesPerMicrosecond = 1 << 20;  // half of what a kernel moves

// Largest pack that is waited for in its own call, if it is the first of a launch batch: it takes little more than its
// launch.
constexpr std::int64_t kMostAwaitedBytes = 256 << 10;

}  // namespace

Engine& Engine::get() {
  static auto& engine = *new Engine;  // never destroyed: threads may use it while the process exits
  return engine;
}

void Engine::post(Message& message) {
  const bool is_packed =
      !message.outs.all([](const Transfer& transfer) { return transfer.packed_buffer.can_be_queued(); });
  if (is_packed) pack_now(message);
  const CallLock lock(mutex_);
  if (!is_packed && n_shared_launches_ == 0) launch_batch_.add(message);
  Transfer& transfer = message.outs.first();
  transfer.match = notes_messages() ? transfer.transport.post_send(message.comm, transfer, !is_packed) : Match{};
  message.state.become(MessageState::pending);
  const Before others = transfer.match.is_unmatched() ? unmatched_.before(message) : Before::none;
  if (transfer.match.is_unmatched() && others != Before::its_tag) {
    transfer.match = transfer.transport.match(transfer, others == Before::none);
    if (!transfer.match.is_unmatched()) unmatched_.note_matched(transfer);
  }
  if (transfer.match.is_unmatched() && !unmatched_.takes_wait(message)) transfer.match = {};
  if (transfer.match.is_unmatched()) return leave_unmatched(message);
  if (!transfer.match.is_put()) pack_unmatched(message.comm, transfer.peer);
  if (is_packed && pending_.empty()) {
    const MessagePtr lasting = managed_.find(message.request);  // an error handler may complete it
    return start(*lasting);
  }
  const bool starts_now = starts_in_its_call(message);
  if (starts_now) launch_batch_.note_awaited();
  pending_.push_back(managed_.find(message.request));
  if (n_work_.load(std::memory_order_relaxed) == 0) count_work();  // before a FIN message is sent
  if (!is_packed) queue(message);
  held_bytes_ += message.outs.bytes();
  if (n_shared_launches_ == 0) start_or_leave(starts_now);
  if (n_shared_launches_ == 0) count_work();
}

void Engine::leave_unmatched(Message& message) {
  unmatched_.add(managed_.find(message.request));
  held_bytes_ += message.outs.bytes();
  count_work();
  if (progress_mode() == ProgressMode::thread) wake_progress_thread();
}

// Sends that were unmatched join the queue.
void Engine::join(const std::vector<MessagePtr>& messages) noexcept {
  for (const MessagePtr& message : messages) {
    pending_.push_back(message);
    not_launched_.push_back(message.get());
    not_launched_bytes_ += message->outs.bytes();
    only_direct_ = only_direct_ && message->outs.first().match.is_put();
  }
}

// Ranks that exchange messages with each other post their receives at about the same time: those that are matched wait
// a little for those that are not, and share their launch. That takes less than the launch that it saves, or a part of
// what runs side by side then: messages between GPUs and within one.
void Engine::match_unmatched(bool waits) noexcept {
  if (unmatched_.empty()) return;
  join(unmatched_.take_matched(waits));
  if (!waits || not_launched_.empty()) return;
  const auto end = Clock::now() + kLaunchTakes + std::chrono::microseconds(not_launched_bytes_ / kBytesPerMicrosecond);
  while (!unmatched_.empty() && Clock::now() < end) join(unmatched_.take_matched(waits));
}

void Engine::pack_unmatched(Handle comm, int peer) noexcept {
  if (!unmatched_.empty()) join(unmatched_.take(comm, peer));
}

// The rest starts with the next call, or by a thread.
void Engine::start_or_leave(bool starts_now) noexcept {
  if (starts_now || (progress_mode() == ProgressMode::thread && !wake_progress_thread())) start_packed(true);
}

void Engine::hold() noexcept {
  const CallLock lock(mutex_);
  if (n_shared_launches_++ == 0) held_bytes_ = 0;
}

void Engine::release() noexcept {
  const CallLock lock(mutex_);
  if (--n_shared_launches_ > 0 || (pending_.empty() && unmatched_.empty())) return;
  match_unmatched(true);
  launch();
  start_or_leave(progress_mode() == ProgressMode::same_call ||
                 (unmatched_.empty() && held_bytes_ <= kMostAwaitedBytes));
  count_work();
}

// The first pack starts the GPU, unless others are known to follow; those that do while it runs share the next launch.
void Engine::queue(Message& message) {
  const bool is_direct = message.outs.first().match.is_put();
  not_launched_.push_back(&message);
  not_launched_bytes_ += message.outs.bytes();
  only_direct_ = only_direct_ && is_direct;
  if (n_shared_launches_ > 0 && is_direct) return;
  const bool is_first = pending_.size() == 1 && n_shared_launches_ == 0 && !launch_batch_.expects_several();
  const bool is_much = not_launched_.size() >= kMostWaiting || not_launched_bytes_ >= kMostWaitingBytes;
  const bool waits = is_much && only_direct_ && launch_batch_.may_wait();
  if (is_first || (is_much && !waits && !is_launched_running())) launch();
  if (is_direct && n_shared_launches_ == 0) launch_batch_.note_direct(is_much);
}

// Only the first of a launch batch of sends is waited for: the others share a launch.
bool Engine::starts_in_its_call(const Message& message) const noexcept {
  if (progress_mode() == ProgressMode::same_call) return true;
  return pending_.empty() && launch_batch_.may_await() && message.outs.bytes() <= kMostAwaitedBytes;
}

bool Engine::is_launched_running() const noexcept try { return launched_ && !launched_->reached(); } catch (...) {
  return false;  // whoever waits for it is told
}

void Engine::launch() noexcept {
  if (not_launched_.empty()) return;
  pack_grouped(not_launched_);
  const auto& last = not_launched_.back()->outs.first().queued;
  launched_ = last ? last->mark : nullptr;
  not_launched_.clear();
  not_launched_bytes_ = 0;
  only_direct_ = true;
}

void Engine::note_needed(int count, const void* requests) noexcept {
  const CallLock lock(mutex_);
  if (requests != nullptr && !unmatched_.empty()) unmatched_.note_needed(count, requests);
}

// Other threads may have the lock while unmatched sends wait, and the library goes on: their receivers may wait for
// messages, or FIN messages, that it still has.
void Engine::start_pending(bool waits) noexcept {
  count_call();
  yield_until(kForever, [&] { return start_what_can_be(waits) || !waits; }, [] { let_library_go_on(); });
}

// False: sends are unmatched still. Others are not waited for then: unmatched ones are launched as soon as they match.
bool Engine::start_what_can_be(bool waits) noexcept {
  const CallLock lock(mutex_);
  launch_batch_.end();
  if (!waits) end_early_fins(false);
  match_unmatched(waits);
  const bool is_done = unmatched_.are_others();
  start_packed(waits && is_done);
  tend_orphans(false);
  return is_done;
}

void Engine::start_before(Handle comm, int peer) noexcept {
  const CallLock lock(mutex_);
  launch_batch_.end();
  pack_unmatched(comm, peer);
  start_packed(true);
  count_work();
}

// A start may add to the queue, through the program's error handler.
void Engine::start_packed(bool waits) noexcept {
  const auto may_start = [&] {
    launch();
    if (waits) send_first_early_fins();
    if (waits && !pending_.empty()) end_early_fins_to_others();  // what is behind may take long
    return !pending_.empty() && is_packed(*pending_.front(), waits);
  };
  while (may_start()) {
    const MessagePtr message = std::move(pending_.front());
    pending_.pop_front();
    start(*message);
  }
  if (waits) end_early_fins_to_others();
}

Engine::Look Engine::look_after_pending() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return Look::by_others;
  const auto left = [&] {
    return std::tuple(pending_.size() + early_fins_.size(), unmatched_.size(), not_launched_.size());
  };
  const auto before = left();
  end_early_fins(false);
  if (!unmatched_.empty()) join(unmatched_.take_matched(false));
  start_packed(false);
  count_work();
  return left() != before ? Look::useful : Look::in_vain;
}

void Engine::settle() noexcept { start_pending(true); }

bool Engine::has_pending() noexcept {
  const CallLock lock(mutex_);
  return !pending_.empty() || !early_fins_.empty() || !unmatched_.empty();
}

void Engine::forget_all() noexcept {
  n_work_.store(0);
  n_managed_.store(0);
}

void Engine::count_work() noexcept {
  const std::size_t n_sends = pending_.size() + early_fins_.size() + unmatched_.size();
  n_work_.store(n_sends + orphans_.size() + std::size_t{launch_batch_.is_open()}, std::memory_order_release);
}

// A message that is not sent shifts those behind it: they match other receives than those that they have claimed.
void Engine::end_order(Message& failed) noexcept {
  lose_order(failed.comm);
  for (const MessagePtr& message : pending_) {
    Transfer& transfer = message->outs.first();
    if (!transfer.match.is_put() || key_of(message->comm) != key_of(failed.comm)) continue;
    is_packed(*message, true);
    pack_now(*message);
  }
  pack_unmatched(failed.comm, failed.outs.first().peer);
}

void Engine::start(Message& message) noexcept {
  if (!message.outs.empty() && message.outs.first().match.is_put()) return deliver(message);
  message.outs.each([](Transfer& transfer) { transfer.was_direct = false; });
  if (!message.failure) message.start_code = message.mpi.MPI_Start(&message.request);
  const bool has_failed = message.failure || message.start_code != MPI_SUCCESS;
  if (has_failed) end_order(message);
  message.state.become(has_failed ? MessageState::failed : MessageState::started);
}

}  // namespace tempi::message
