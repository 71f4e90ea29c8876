#include "request/managed_requests.hpp"

#include <utility>
#include <vector>

#include "request/completion.hpp"
#include "request/finish.hpp"

namespace tempi::message {
namespace {

// The messages that `get` returns for the handles; empty if there is none.
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

ManagedRequests& ManagedRequests::get() {
  static auto& requests = *new ManagedRequests;  // never destroyed: threads may use it while the process exits
  return requests;
}

void ManagedRequests::count_all() noexcept {
  n_managed_.store(managed_.size(), std::memory_order_relaxed);
  n_orphans_.store(orphans_.size(), std::memory_order_release);
}

void ManagedRequests::forget_all() noexcept {
  n_managed_.store(0);
  n_orphans_.store(0);
}

void ManagedRequests::manage(MessagePtr message) {
  const RequestLock lock;
  managed_.put(std::move(message));
  count_all();
}

bool ManagedRequests::manages_first(const MessagePtr& message) {
  const RequestLock lock;
  if (managed_.find(message->request)) return false;
  managed_.put(message);
  count_all();
  return true;
}

MessagePtr ManagedRequests::find(Handle request) noexcept {
  if (!any()) return nullptr;
  const RequestLock lock;
  return managed_.find(request);
}

MessagePtr ManagedRequests::take(Handle request) noexcept {
  if (!any()) return nullptr;
  const RequestLock lock;
  MessagePtr message = managed_.take(request);
  count_all();
  return message;
}

std::vector<MessagePtr> ManagedRequests::take(int count, const void* requests) {
  const RequestLock lock;
  const auto take_one = [&](Handle request) { return managed_.take(request); };
  std::vector<MessagePtr> taken = of_array<MessagePtr>(count, requests, take_one);
  count_all();
  return taken;
}

std::vector<Message*> ManagedRequests::find(int count, const void* requests) {
  const RequestLock lock;
  return of_array<Message*>(count, requests, [&](Handle request) { return managed_.find(request).get(); });
}

void ManagedRequests::put_back_persistent(std::vector<Completed>& done) {
  const RequestLock lock;
  for (Completed& one : done) {
    if (one.message && one.message->lifetime == Lifetime::programs) managed_.put(std::move(one.message));
  }
  count_all();
}

void ManagedRequests::put_back(std::vector<MessagePtr>& messages) {
  const RequestLock lock;
  for (MessagePtr& message : messages) {
    if (message) managed_.put(std::move(message));
  }
  count_all();
}

void ManagedRequests::begin_starting() noexcept {
  const RequestLock lock;
  ++n_starting_;
}

void ManagedRequests::end_starting() noexcept {
  const RequestLock lock;
  if (--n_starting_ == 0) std::vector<MessagePtr>().swap(freed_);  // their destructors may call this class
}

void ManagedRequests::leave(MessagePtr&& freed) noexcept {
  const RequestLock lock;
  if (n_starting_ > 0) freed_.push_back(std::move(freed));
}

void ManagedRequests::adopt(const MessagePtr& message) noexcept {
  const RequestLock lock;
  orphans_.push_back(message);
  count_all();
}

void ManagedRequests::tend_orphans(bool at_finalize) noexcept {
  const RequestLock lock;
  std::vector<MessagePtr> tended;  // a nested call, by a tool or an error handler, finds no freed request
  tended.swap(orphans_);
  count_all();
  std::erase_if(tended,
                [&](const MessagePtr& orphan) { return end_orphan(orphan, at_finalize && !orphan->outs.empty()); });
  orphans_.insert(orphans_.end(), tended.begin(), tended.end());
  count_all();
}

// Returns nothing also for a receive that a call of another thread completes. The query is our own, because MPICH's
// gives the status only once.
std::optional<bool> ManagedRequests::has_arrived(FunctionRef<bool(const Transfer&)> is_it) noexcept {
  const RequestLock lock;
  tend_orphans(false);
  MessagePtr message;
  managed_.each([&](const MessagePtr& one) {
    if (!one->ins.empty() && is_it(one->ins.first())) message = one;
  });
  if (!message) return {};
  int flag = 0;
  return request_get_status(message->mpi, message->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0;
}

}  // namespace tempi::message
