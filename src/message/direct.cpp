#include "message/direct.hpp"

#include "base/error.hpp"
#include "base/launcher.hpp"
#include "base/log.hpp"
#include "message/call.hpp"
#include "message/engine.hpp"
#include "message/offering.hpp"
#include "message/writing.hpp"
#include "peer/ids.hpp"

namespace tempi::message {
namespace {

using mailbox::Mailbox;

// Null: nobody counts on the communicator.
Meetings* meetings_of(Handle comm) noexcept {
  Meetings* const all = meetings_on(comm);
  return all != nullptr && (all->claims() || all->offers()) ? all : nullptr;
}

// A second thread has closed the sends: claimed ones of the first one go before what it does next. Without a GPU in use
// there are none.
void settle(const Meetings& all) noexcept {
  if (!all.claims() && device::current() != nullptr) Engine::get().settle();
}

void close_after(const Error& error, Handle comm) noexcept {
  warn_fallback("messages between GPUs are packed", error.what());
  close_meetings(comm);
}

// False: the library refuses this call.
bool is_valid(Handle comm, Handle datatype) {
  if (peer::knows(comm)) return true;
  if (find_refusal(datatype, comm)) return false;
  peer::get_to_know(comm);
  return true;
}

// Null: the message is not counted. Closed ones, too: claimed sends of another thread go first.
Meetings* meetings_of_untouched(const Half& half) {
  if (half.peer == MPI_PROC_NULL) return nullptr;
  Meetings* const known = known_meetings(half.buffer.comm);
  if (known != nullptr) return known;
  return is_valid(half.buffer.comm, half.buffer.datatype) ? meetings_on(half.buffer.comm) : nullptr;
}

void note_untouched_send(const Half& half, bool is_persistent) {
  Meetings* const all = meetings_of_untouched(half);
  if (all == nullptr) return;
  if (is_persistent) all->close_sends();
  else all->note_send(half.peer, half.tag);
  settle(*all);
}

void note_untouched_receive(const Half& half, bool is_persistent) {
  Meetings* const all = meetings_of_untouched(half);
  if (all == nullptr) return;
  if (half.peer < 0 || is_persistent) all->close_receives();
  else all->note_receive(half.peer, half.tag);
}

}  // namespace

void open_mailbox() noexcept {
  counts_messages.store(peer::counts_creations() && device::may_come());
  if (notes_messages()) Mailbox::own().publish(job_on_node(), peer::own_rank());
}

void close_mailbox() noexcept {
  if (counts_messages.exchange(false)) Mailbox::own().withdraw();
}

void note_untouched(const Half* out, const Half* in, bool is_persistent) noexcept try {
  if (!notes_messages()) return;
  if (out != nullptr) note_untouched_send(*out, is_persistent);
  if (in != nullptr) note_untouched_receive(*in, is_persistent);
} catch (...) {
  close_after(caught_error(), (out != nullptr ? out : in)->buffer.comm);
}

void close_all_meetings() noexcept {
  if (notes_messages()) Meetings::close_all();
}

void close_meetings(Handle comm) noexcept {
  if (!notes_messages() || !peer::knows(comm)) return;
  if (Meetings* const all = meetings_of(comm)) all->close();
}

void note_probe() noexcept {
  if (notes_messages()) Mailbox::own().tell_of_probes();
}

void promise_no_probes(Handle comm) noexcept {
  if (Meetings* const all = notes_messages() ? meetings_on(comm) : nullptr) all->never_probe();
}

OfferPtr note_receive(Handle comm, Part& part) noexcept try {
  if (!notes_messages()) return nullptr;
  Meetings* const all = meetings_of(comm);
  if (all == nullptr) return nullptr;
  if (part.peer < 0) {
    all->close_receives();
    return nullptr;
  }
  const Meetings::Place place = all->place_receive(part.peer, part.tag, part.payload.may_be_direct());
  if (place.line == nullptr) return nullptr;
  OfferPtr offer = part.payload.may_be_direct() ? make_offer(place, part) : nullptr;
  if (offer) offer->counted_by = all;
  else place.line->n_posted.store(place.n, std::memory_order_release);
  return offer;
} catch (...) {
  close_after(caught_error(), comm);
  return nullptr;
}

void post_offer(Offer& offer) noexcept {
  if (offer.post()) count_direct(Outcome::offered, offer.bytes());
}

void note_send(Handle comm, Part& part, bool may_write) noexcept try {
  part.direct.reset();
  part.early.reset();
  Meetings* const all = notes_messages() ? meetings_of(comm) : nullptr;
  if (all == nullptr) return;
  const std::optional<Turn> turn = all->place_send(part.peer, part.tag);
  const bool is_claimed = may_write && part.payload.may_be_direct();
  if (turn && is_claimed && lies_on_one_gpu(part.payload)) part.early = turn;
} catch (...) {
  close_after(caught_error(), comm);
}

bool look(Part& part, bool is_next) noexcept {
  const Meeting meeting = meet(*part.early, is_next);
  if (meeting.met == Met::early) return false;
  if (meeting.met == Met::claimed) part.direct = write_to(*part.early, meeting.claim, part);
  part.early.reset();
  return true;
}

}  // namespace tempi::message
