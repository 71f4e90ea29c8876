// The engine's part of MPI_Cancel: pending sends that never start, published receives that nobody may claim any more.
#include "request/cancel.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/call_lock.hpp"
#include "request/completion.hpp"
#include "transfer/engine.hpp"
#include "transfer/grouped_packing.hpp"
#include "transport/ipc/ipc.hpp"
#include "transport/ipc/library_requests.hpp"

namespace tempi::message {
namespace {

// A message whose published receive is claimed is on its way, unless its sender dies. When it has come, its kernel is
// waited for, however long that runs.
constexpr std::chrono::seconds kMessageTakes{5};

bool has_published_receive(const MessagePtr& message, const PublishedReceivePtr& published_receive) {
  return !message->ins.empty() && message->ins.first().published_receive == published_receive;
}

// The messages behind a cancelled send would move up: those that are claimed go before, and no other is.
void end_claims(std::uint64_t comm) noexcept {
  Matcher::with(comm, [](Matcher& counts) { counts.close_sends(Outcome::ended_by_cancel); });
  Engine::get().settle();
  Engine::get().settle_early_fins();
}

// It is not known which message it is. Messages of claimed published receives come first.
void cancel_unknown() noexcept {
  Matcher::close_all(Outcome::ended_by_cancel);
  Engine::get().settle();
  Engine::get().settle_early_fins();
  Engine::get().revoke_unclaimed();
}

// Later receives of its match queue would move up: none of them stays published. It is undecided until it is complete.
bool note_cancel_of_receive(Message& message) {
  Transfer& transfer = message.ins.first();
  if (transfer.queue_place.order == 0) return true;
  UndecidedPtr undecided;
  Matcher::with(transfer.queue_place.comm, [&](Matcher& counts) {
    undecided = counts.note_cancel(transfer.peer, transfer.tag, transfer.queue_place.match_queue);
  });
  const bool is_cancelled = PublishedReceive::revoke_from(transfer.queue_place);
  if (is_cancelled && !message.undecided) message.undecided = std::move(undecided);
  else if (undecided) undecided->decide_nothing();
  return is_cancelled;
}

// Nobody sees the completion of a receive that is the library's.
bool note_cancel_of_library(const LibraryMessage& its) {
  if (its.is_send) end_claims(its.queue_place.comm);
  if (its.queue_place.order != 0)
    Matcher::with(its.queue_place.comm,
                  [&](Matcher& counts) { counts.note_unseen_cancel(its.queue_place.match_queue); });
  return its.queue_place.order == 0 || PublishedReceive::revoke_from(its.queue_place);
}

}  // namespace

bool note_cancel(const MessagePtr& message, Handle request) noexcept try {
  if (message && message->continuation) return cancel_unknown(), true;
  if (message && !message->ins.empty() && !message->is_collective()) return note_cancel_of_receive(*message);
  if (message && message->outs.empty()) return true;  // undecided already, or no message that is counted
  if (message) {
    if (const Matcher* const counts = known_matcher(message->comm)) end_claims(counts->name());
    return true;
  }
  const auto its = library_requests().find(request);
  if (its && (!its->is_send || its->queue_place.comm != 0)) return note_cancel_of_library(*its);
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
  if ((*found)->outs.first().put) {  // too late: the receiver's buffer is being written
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

void Engine::revoke_unclaimed() noexcept {
  const auto end = std::chrono::steady_clock::now() + kMessageTakes;
  for (const PublishedReceivePtr& published_receive : PublishedReceive::revoke_all()) {
    while (!is_matched(published_receive) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }
}

// A receive that a call of another thread has taken is matched when that call says so. By our own query: MPICH's
// forgets the status that it has told.
bool Engine::is_matched(const PublishedReceivePtr& published_receive) noexcept {
  const CallLock lock(mutex_);
  tend_orphans(false);
  MessagePtr message;
  managed_.each([&](const MessagePtr& one) {
    if (has_published_receive(one, published_receive)) message = one;
  });
  if (!message) return published_receive->is_ended();
  int flag = 0;
  return request_get_status(message->mpi, message->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0;
}

}  // namespace tempi::message
