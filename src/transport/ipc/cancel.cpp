// MPI_Cancel: revokes published receives, and keeps the order of the messages behind them.
#include <chrono>

#include "base/yield_until.hpp"
#include "request/progress.hpp"
#include "transport/ipc/ipc.hpp"
#include "transport/ipc/library_requests.hpp"
#include "transport/ipc/published_receives.hpp"
#include "transport/ipc/state.hpp"

namespace tempi::message {
namespace {

// A message whose published receive is claimed is on its way, unless its sender dies. When it has come, its kernel is
// waited for, however long that runs.
constexpr std::chrono::seconds kMessageTakes{5};

// The messages behind a cancelled send would move up: those that are claimed go before, and no other is.
void end_claims(std::uint64_t comm) noexcept {
  Matcher::with(comm, [](Matcher& counts) { counts.close_sends(Outcome::ended_by_cancel); });
  PendingSends::get().settle();
  PendingSends::get().end_early_fins(true);
}

void revoke_unclaimed() noexcept {
  const auto end = std::chrono::steady_clock::now() + kMessageTakes;
  for (const PublishedReceivePtr& published_receive : PublishedReceive::revoke_all()) {
    const auto is_it = [&](const Transfer& transfer) { return published_in(transfer) == published_receive.get(); };
    const auto has_arrived = [&] {
      return ManagedRequests::get().has_arrived(is_it).value_or(published_receive->is_ended());
    };
    yield_until(end, has_arrived);
  }
}

// It is not known which message it is. Messages of claimed published receives come first.
void cancel_unknown() noexcept {
  Matcher::close_all(Outcome::ended_by_cancel);
  PendingSends::get().settle();
  PendingSends::get().end_early_fins(true);
  revoke_unclaimed();
}

// Later receives of its match queue would move up: none of them stays published. It is undecided until it is complete.
bool note_cancel_of_receive(Message& message) {
  Transfer& transfer = message.ins.first();
  const QueuePlace place = transfer.state ? state_of(transfer).queue_place : QueuePlace{};
  if (place.order == 0) return true;
  UndecidedReceivePtr undecided;
  Matcher::with(place.comm,
                [&](Matcher& counts) { undecided = counts.note_cancel(transfer.peer, transfer.tag, place.received); });
  const bool is_cancelled = PublishedReceive::revoke_from(place);
  if (is_cancelled && !message.undecided) message.undecided = std::move(undecided);
  else if (undecided) undecided->decide_nothing();
  return is_cancelled;
}

// Nobody sees the completion of a receive that is the library's.
bool note_cancel_of_library(const LibraryMessage& its) {
  if (its.is_send) end_claims(its.queue_place.comm);
  if (its.queue_place.order != 0)
    Matcher::with(its.queue_place.comm, [&](Matcher& counts) { counts.note_unseen_cancel(its.queue_place.received); });
  return its.queue_place.order == 0 || PublishedReceive::revoke_from(its.queue_place);
}

}  // namespace

bool cancel_message(const MessagePtr& message, Handle request) noexcept try {
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

}  // namespace tempi::message
