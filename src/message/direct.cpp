#include "message/direct.hpp"

#include "base/error.hpp"
#include "base/launcher.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "message/call.hpp"
#include "message/engine.hpp"
#include "message/library_requests.hpp"
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

std::uint64_t note_untouched_send(const Half& half, bool is_persistent) {
  Meetings* const all = meetings_of_untouched(half);
  if (all == nullptr) return 0;
  if (!is_persistent) all->note_send(half.peer, half.tag);
  settle(*all);
  return all->name();
}

// A wildcard's completion is not ours to see.
Meetings::Place note_untouched_receive(const Half& half, bool is_persistent) {
  Meetings* const all = half.is_matched ? nullptr : meetings_of_untouched(half);
  if (all == nullptr) return {};
  if (!is_persistent) return all->note_receive(half.peer, half.tag);
  if (half.peer < 0) all->close_receives(Outcome::ended_by_persistent);
  return {.posted = {all->name()}};
}

}  // namespace

void open_mailbox() noexcept {
  const bool may_be_direct = model::direct_is_wanted() && device::may_come();
  has_open_mailbox.store(peer::counts_creations() && may_be_direct);
  counts_messages.store(peer::counts_creations() && (may_be_direct || !text(Option::TRACE).empty()));
  if (has_mailbox()) Mailbox::own().publish(job_on_node(), peer::own_rank());
}

void close_mailbox() noexcept {
  counts_messages.store(false);
  if (has_open_mailbox.exchange(false)) Mailbox::own().withdraw();
}

Meetings::Place note_untouched(const Half* out, const Half* in, bool is_persistent) noexcept try {
  if (!notes_messages()) return {};
  const std::uint64_t name = out != nullptr ? note_untouched_send(*out, is_persistent) : 0;
  Meetings::Place place = in != nullptr ? note_untouched_receive(*in, is_persistent) : Meetings::Place{};
  if (place.posted.comm == 0) place.posted.comm = name;
  return place;
} catch (...) {
  close_after(caught_error(), (out != nullptr ? out : in)->buffer.comm);
  return {};
}

void note_made(const Half* out, const Half* in, const Posted& posted, bool is_persistent, Handle request) noexcept try {
  if (!notes_messages()) return;
  const Half& half = out != nullptr ? *out : *in;
  if (!is_persistent) library_requests().note(request, {out != nullptr && posted.comm != 0, posted});
  else if (posted.comm != 0)
    persistent_requests().remember(request, {posted.comm, half.peer, half.tag, out != nullptr});
} catch (...) {
  close_after(caught_error(), (out != nullptr ? out : in)->buffer.comm);
}

void close_meetings(Handle comm, Outcome why) noexcept {
  if (!notes_messages() || !peer::knows(comm)) return;
  if (Meetings* const all = meetings_of(comm)) all->close(why);
}

void note_probe() noexcept {
  if (notes_messages()) Mailbox::own().tell_of_probes();
}

void promise_no_probes(Handle comm) noexcept {
  if (Meetings* const all = notes_messages() ? meetings_on(comm) : nullptr) all->never_probe();
}

AllInCall::AllInCall(Handle comm) noexcept : meetings_(notes_messages() ? meetings_on(comm) : nullptr) {
  if (meetings_ != nullptr) meetings_->note_all_in_call(true);
}

AllInCall::~AllInCall() {
  if (meetings_ != nullptr) meetings_->note_all_in_call(false);
}

void note_receive(Message& message) noexcept try {
  Part& part = message.ins.first();
  part.offer = nullptr;
  part.posted = {};
  part.arrow = 0;
  Meetings* const all = notes_messages() ? meetings_of(message.comm) : nullptr;
  if (all == nullptr) return;
  const bool may_be_offered = part.payload.may_be_direct();
  Meetings::Place place = all->place_receive(part.peer, part.tag, may_be_offered);
  part.posted = place.posted;
  part.arrow = place.arrow;
  if (may_be_offered && place.undecided) count_direct(Outcome::from_any_source, part.payload.bytes());
  message.undecided = std::move(place.undecided);
  if (place.line == nullptr) return;
  if (may_be_offered && place.is_in_doubt) count_direct(Outcome::undecided, part.payload.bytes());
  part.offer = may_be_offered && !place.is_in_doubt ? make_offer(place, part) : nullptr;
  if (part.offer) Mailbox::own().note_unprobed();
  if (part.offer) part.offer->counted_by = all;
  else place.line->post(place.n);
} catch (...) {
  close_after(caught_error(), message.comm);
}

UndecidedPtr note_matched_probe(int source, int tag, Handle comm) noexcept try {
  if (!notes_messages() || source == MPI_PROC_NULL) return nullptr;
  Meetings* const all = is_valid(comm, type_byte()) ? meetings_on(comm) : nullptr;
  return all != nullptr ? all->note_matched_probe(source, tag) : nullptr;
} catch (...) {
  close_after(caught_error(), comm);
  return nullptr;
}

void note_posted(const Message& message) noexcept {
  if (notes_messages()) library_requests().note(message.request, {false, message.ins.first().posted});
}

void note_send_request(const Message& message) noexcept {
  if (!notes_messages()) return;
  const Meetings* const counts = known_meetings(message.comm);
  library_requests().note(message.request, {true, {counts != nullptr ? counts->name() : 0}});
}

void post_offer(Offer& offer) noexcept {
  if (offer.post()) count_direct(Outcome::published, offer.bytes());
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
