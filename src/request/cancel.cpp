// The engine's part of MPI_Cancel: pending sends that never start, and receives whose messages are on their way.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/call_lock.hpp"
#include "request/completion.hpp"
#include "request/engine.hpp"
#include "request/grouped_packing.hpp"

namespace tempi::message {

bool Engine::withdraw(Handle request) noexcept {
  const CallLock lock(mutex_);
  const auto is_it = [&](const MessagePtr& message) { return key_of(message->request) == key_of(request); };
  const auto found = std::find_if(pending_.begin(), pending_.end(), is_it);
  if (found == pending_.end()) return false;
  if ((*found)->outs.first().match.is_put()) {  // too late: the receiver's buffer is being written
    start_packed(true);
    count_work();
    return true;
  }
  launch();
  const MessagePtr message = *found;
  is_packed(*message, true);
  pending_.erase(found);
  count_work();
  message->state.become(MessageState::withdrawn);
  return true;
}

// Nothing, also for a receive that a call of another thread completes. The query is our own, because MPICH's gives the
// status only once.
std::optional<bool> Engine::has_arrived(FunctionRef<bool(const Transfer&)> is_it) noexcept {
  const CallLock lock(mutex_);
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
