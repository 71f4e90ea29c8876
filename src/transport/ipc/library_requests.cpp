#include "transport/ipc/library_requests.hpp"

#include <utility>

#include "base/call_lock.hpp"
#include "request/progress.hpp"

namespace tempi::message {

LibraryRequests& library_requests() {
  static auto& all = *new LibraryRequests;
  return all;
}

PersistentRequests& persistent_requests() {
  static auto& all = *new PersistentRequests;
  return all;
}

void PersistentRequests::remember(Handle request, const Known& known) {
  const CallLock lock(mutex_);
  all_[key_of(request)] = known;
  n_.store(all_.size(), std::memory_order_relaxed);
}

std::optional<PersistentRequests::Known> PersistentRequests::find(Handle request) noexcept {
  if (n_.load(std::memory_order_relaxed) == 0) return {};
  const CallLock lock(mutex_);
  const auto found = all_.find(key_of(request));
  return found != all_.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<PersistentRequests::Known> PersistentRequests::find_first_on_stream(Handle request) noexcept {
  if (n_.load(std::memory_order_relaxed) == 0) return {};
  const CallLock lock(mutex_);
  const auto found = all_.find(key_of(request));
  if (found == all_.end() || std::exchange(found->second.was_on_stream, true)) return {};
  return found->second;
}

// A second thread's send waits for claimed ones of the first (transport/ipc/ipc.cpp: settle).
void PersistentRequests::note_start(Handle request) noexcept {
  const std::optional<Known> known = find(request);
  if (!known) return;
  bool settles = false;
  LibraryMessage message{known->is_send, {known->comm}};
  Matcher::with(known->comm, [&](Matcher& counts) {
    if (!known->is_send) message.queue_place = counts.note_receive(known->peer, known->tag).queue_place;
    else counts.note_send(known->peer, known->tag);
    settles = known->is_send && !counts.claims();
  });
  library_requests().note(request, message);
  if (settles) PendingSends::get().settle();
}

void PersistentRequests::forget(Handle request) noexcept {
  if (n_.load(std::memory_order_relaxed) == 0) return;
  const CallLock lock(mutex_);
  all_.erase(key_of(request));
  n_.store(all_.size(), std::memory_order_relaxed);
}

}  // namespace tempi::message
