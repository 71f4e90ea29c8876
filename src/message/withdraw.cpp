// The engine's part of MPI_Cancel: pending sends that never start, offers that nobody may claim any more.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/call_lock.hpp"
#include "message/completion.hpp"
#include "message/direct.hpp"
#include "message/engine.hpp"
#include "message/grouped.hpp"

namespace tempi::message {
namespace {

// A message whose offer is claimed is on its way, unless its sender dies. When it has come, its kernel is waited for,
// however long that runs.
constexpr std::chrono::seconds kMessageTakes{5};

bool has_offer(const MessagePtr& message, const OfferPtr& offer) {
  return !message->ins.empty() && message->ins.first().offer == offer;
}

}  // namespace

bool Engine::withdraw(Handle request) noexcept {
  const CallLock lock(mutex_);
  const auto is_it = [&](const MessagePtr& message) { return key_of(message->request) == key_of(request); };
  const auto found = std::find_if(pending_.begin(), pending_.end(), is_it);
  if (found == pending_.end()) return false;
  if ((*found)->outs.first().direct) {  // too late: the receiver's buffer is being written
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

void Engine::withdraw_offers() noexcept {
  const auto end = std::chrono::steady_clock::now() + kMessageTakes;
  for (const OfferPtr& offer : Offer::revoke_all()) {
    while (!is_met(offer) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }
}

// A receive that a call of another thread has taken is met when that call says so. By our own query: MPICH's forgets
// the status that it has told.
bool Engine::is_met(const OfferPtr& offer) noexcept {
  const CallLock lock(mutex_);
  tend_orphans(false);
  MessagePtr message;
  managed_.each([&](const MessagePtr& one) {
    if (has_offer(one, offer)) message = one;
  });
  if (!message) return offer->is_ended();
  int flag = 0;
  return request_get_status(message->mpi, message->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0;
}

}  // namespace tempi::message
