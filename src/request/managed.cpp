// The engine's managed requests, and those that the program has freed.
#include <utility>
#include <vector>

#include "base/call_lock.hpp"
#include "request/engine.hpp"
#include "request/finish.hpp"

namespace tempi::message {
namespace {

// The messages that `get` answers for the handles; empty if there is none.
template <class Pointer, class Get>
std::vector<Pointer> of_array(int count, const void* requests, const Get& get) {
  std::vector<Pointer> messages;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    Pointer message = get(load_handle(static_cast<const char*>(requests) + at * kRequestBytes));
    if (!message) continue;
    if (messages.empty()) messages.resize(static_cast<std::size_t>(count));
    messages[at] = std::move(message);
  }
  return messages;
}

}  // namespace

void Engine::manage(MessagePtr message) {
  const CallLock lock(mutex_);
  managed_.put(std::move(message));
  count_managed();
}

bool Engine::manages_first(const MessagePtr& message) {
  const CallLock lock(mutex_);
  if (managed_.find(message->request)) return false;
  managed_.put(message);
  count_managed();
  return true;
}

MessagePtr Engine::find(Handle request) noexcept {
  if (!manages_any()) return nullptr;
  const CallLock lock(mutex_);
  return managed_.find(request);
}

MessagePtr Engine::take(Handle request) noexcept {
  if (!manages_any()) return nullptr;
  const CallLock lock(mutex_);
  MessagePtr message = managed_.take(request);
  count_managed();
  return message;
}

std::vector<MessagePtr> Engine::take(int count, const void* requests) {
  const CallLock lock(mutex_);
  const auto take_one = [&](Handle request) { return managed_.take(request); };
  std::vector<MessagePtr> taken = of_array<MessagePtr>(count, requests, take_one);
  count_managed();
  return taken;
}

std::vector<Message*> Engine::find(int count, const void* requests) {
  const CallLock lock(mutex_);
  return of_array<Message*>(count, requests, [&](Handle request) { return managed_.find(request).get(); });
}

void Engine::put_back_persistent(std::vector<Completed>& done) {
  const CallLock lock(mutex_);
  for (Completed& one : done) {
    if (one.message && one.message->lifetime == Lifetime::programs) managed_.put(std::move(one.message));
  }
  count_managed();
}

void Engine::put_back(std::vector<MessagePtr>& messages) {
  const CallLock lock(mutex_);
  for (MessagePtr& message : messages) {
    if (message) managed_.put(std::move(message));
  }
  count_managed();
}

void Engine::begin_starting() noexcept {
  const CallLock lock(mutex_);
  ++n_starting_;
}

void Engine::end_starting() noexcept {
  const CallLock lock(mutex_);
  if (--n_starting_ == 0) std::vector<MessagePtr>().swap(freed_);  // their ends may come back here
}

void Engine::leave(MessagePtr&& freed) noexcept {
  const CallLock lock(mutex_);
  if (n_starting_ > 0) freed_.push_back(std::move(freed));
}

void Engine::adopt(const MessagePtr& message) noexcept {
  const CallLock lock(mutex_);
  orphans_.push_back(message);
  count_work();
}

void Engine::tend_orphans(bool at_finalize) noexcept {
  const CallLock lock(mutex_);
  std::vector<MessagePtr> tended;  // a nested call from in here, by a tool or a handler, matches none
  tended.swap(orphans_);
  count_work();
  std::erase_if(tended,
                [&](const MessagePtr& orphan) { return end_orphan(orphan, at_finalize && !orphan->outs.empty()); });
  orphans_.insert(orphans_.end(), tended.begin(), tended.end());
  count_work();
}

}  // namespace tempi::message
