// The engine's part of MPI_Cancel: pending sends that never start, offers that nobody may claim any more.
#include "message/withdraw.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/call_lock.hpp"
#include "message/completion.hpp"
#include "message/direct.hpp"
#include "message/engine.hpp"
#include "message/grouped.hpp"
#include "message/library_requests.hpp"

namespace tempi::message {
namespace {

// A message whose offer is claimed is on its way, unless its sender dies. When it has come, its kernel is waited for,
// however long that runs.
constexpr std::chrono::seconds kMessageTakes{5};

bool has_offer(const MessagePtr& message, const OfferPtr& offer) {
  return !message->ins.empty() && message->ins.first().offer == offer;
}

// The messages behind a cancelled send would move up: those that are claimed go before, and no other is.
void end_claims(std::uint64_t comm) noexcept {
  Meetings::with(comm, [](Meetings& counts) { counts.close_sends(Outcome::ended_by_cancel); });
  Engine::get().settle();
  Engine::get().settle_announced();
}

// It is not known which message it is. Messages of claimed offers come first.
void cancel_unknown() noexcept {
  Meetings::close_all(Outcome::ended_by_cancel);
  Engine::get().settle();
  Engine::get().settle_announced();
  Engine::get().withdraw_offers();
}

// Later receives of its line would move up: none of them stays offered. It is undecided until it is complete.
bool note_cancel_of_receive(Message& message) {
  Part& part = message.ins.first();
  if (part.posted.order == 0) return true;
  UndecidedPtr undecided;
  Meetings::with(part.posted.comm,
                 [&](Meetings& counts) { undecided = counts.note_cancel(part.peer, part.tag, part.posted.line); });
  const bool is_cancelled = Offer::revoke_from(part.posted);
  if (is_cancelled && !message.undecided) message.undecided = std::move(undecided);
  else if (undecided) undecided->decide_nothing();
  return is_cancelled;
}

// Nobody sees the completion of a receive that is the library's.
bool note_cancel_of_library(const LibraryMessage& its) {
  if (its.is_send) end_claims(its.posted.comm);
  if (its.posted.order != 0)
    Meetings::with(its.posted.comm, [&](Meetings& counts) { counts.note_unseen_cancel(its.posted.line); });
  return its.posted.order == 0 || Offer::revoke_from(its.posted);
}

}  // namespace

bool note_cancel(const MessagePtr& message, Handle request) noexcept try {
  if (message && message->rest) return cancel_unknown(), true;
  if (message && !message->ins.empty() && !message->is_collective()) return note_cancel_of_receive(*message);
  if (message && message->outs.empty()) return true;  // undecided already, or no message that is counted
  if (message) {
    if (const Meetings* const counts = known_meetings(message->comm)) end_claims(counts->name());
    return true;
  }
  const auto its = library_requests().find(request);
  if (its && (!its->is_send || its->posted.comm != 0)) return note_cancel_of_library(*its);
  cancel_unknown();
  return true;
} catch (...) {
  cancel_unknown();
  return true;
}

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
