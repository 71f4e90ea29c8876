#include "send/engine.hpp"

#include <algorithm>

#include "base/trace.hpp"
#include "mpi/real.hpp"
#include "send/finish.hpp"
#include "send/grouped.hpp"

namespace tempi::send {
namespace {

// Small packs wait for company, but not for ever.
constexpr std::size_t kMostWaiting = 64;
constexpr std::int64_t kMostWaitingBytes = 256 << 10;

}  // namespace

Engine& Engine::get() {
  static auto& engine = *new Engine;  // never destroyed: threads may use it while the process exits
  return engine;
}

// The first pack starts the GPU; those that follow while it runs share the next launch.
void Engine::post(const MessagePtr& message) {
  const std::lock_guard lock(mutex_);
  message->is_started = false;
  message->start_code = MPI_SUCCESS;
  const bool is_first = pending_.empty();
  pending_.push_back(message);
  count_work();
  if (!message->out->can_be_queued()) return pack_now(*message);
  not_launched_.push_back(message);
  not_launched_bytes_ += message->out->bytes();
  if (is_first || not_launched_.size() >= kMostWaiting || not_launched_bytes_ >= kMostWaitingBytes) launch();
}

void Engine::launch() noexcept {
  pack_grouped(not_launched_);
  not_launched_.clear();
  not_launched_bytes_ = 0;
}

void Engine::start_pending(bool waits) noexcept {
  const std::lock_guard lock(mutex_);
  launch();
  while (!pending_.empty() && is_packed(*pending_.front(), waits)) {
    const MessagePtr message = pending_.front();
    pending_.pop_front();
    count_work();
    start(*message);
  }
  tend_orphans(false);
}

void Engine::count_work() noexcept { n_work_.store(pending_.size() + orphans_.size(), std::memory_order_relaxed); }

bool Engine::is_packed(Message& message, bool waits) noexcept {
  if (!message.queued.mark) return true;
  try {
    if (!waits && !message.queued.mark->reached()) return false;
    if (waits) trace::traced("wait for batch", [&] { message.queued.mark->wait(); });
  } catch (const Error&) {
    pack_now(message);
  }
  message.queued = {};
  return true;
}

void Engine::start(Message& message) noexcept {
  message.is_started = true;
  if (message.failure) return;
  message.is_starting = true;
  message.start_code = message.mpi.MPI_Start(&message.request);
  message.is_starting = false;
}

bool Engine::withdraw(Message& message) noexcept {
  const std::lock_guard lock(mutex_);
  const auto is_it = [&](const MessagePtr& other) { return other.get() == &message; };
  const auto found = std::find_if(pending_.begin(), pending_.end(), is_it);
  if (found == pending_.end()) return false;
  launch();
  is_packed(message, true);
  pending_.erase(found);
  count_work();
  message.is_started = true;
  message.is_cancelled = true;
  return true;
}

void Engine::manage(const MessagePtr& message) {
  const std::lock_guard lock(mutex_);
  managed_.put(message);
  count_managed();
}

MessagePtr Engine::find(Handle request) noexcept {
  if (!manages_any()) return nullptr;
  const std::lock_guard lock(mutex_);
  return managed_.find(request);
}

MessagePtr Engine::take(Handle request) noexcept {
  if (!manages_any()) return nullptr;
  const std::lock_guard lock(mutex_);
  MessagePtr message = managed_.take(request);
  count_managed();
  return message;
}

std::vector<MessagePtr> Engine::take(int count, const void* requests) {
  std::vector<MessagePtr> taken;
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    MessagePtr message = managed_.take(load_handle(static_cast<const char*>(requests) + at * kRequestBytes));
    if (!message) continue;
    if (taken.empty()) taken.resize(static_cast<std::size_t>(count));
    taken[at] = std::move(message);
  }
  count_managed();
  return taken;
}

void Engine::put_back(std::vector<MessagePtr>& messages) {
  const std::lock_guard lock(mutex_);
  for (MessagePtr& message : messages) {
    if (message) managed_.put(std::move(message));
  }
  count_managed();
}

void Engine::adopt(const MessagePtr& message) noexcept {
  const std::lock_guard lock(mutex_);
  orphans_.push_back(message);
  count_work();
}

void Engine::tend_orphans(bool at_finalize) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(orphans_, [&](const MessagePtr& orphan) { return end_orphan(orphan, at_finalize && orphan->out); });
  count_work();
}

}  // namespace tempi::send
