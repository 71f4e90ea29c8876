#include "transport/ipc/ipc.hpp"

#include "base/error.hpp"
#include "base/launcher.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "peer/ids.hpp"
#include "transfer/call.hpp"
#include "transfer/engine.hpp"
#include "transport/ipc/library_requests.hpp"
#include "transport/ipc/publishing.hpp"
#include "transport/ipc/put.hpp"

namespace tempi::message {
namespace {

using ipc::OwnSegment;

// Null: nobody counts on the communicator.
Matcher* matcher_of(Handle comm) noexcept {
  Matcher* const all = matcher_on(comm);
  return all != nullptr && (all->claims() || all->publishes()) ? all : nullptr;
}

// A second thread has closed the sends: claimed ones of the first one go before what it does next. Without a GPU in use
// there are none.
void settle(const Matcher& all) noexcept {
  if (!all.claims() && device::current() != nullptr) Engine::get().settle();
}

void close_after(const Error& error, Handle comm) noexcept {
  warn_fallback("messages between GPUs are packed", error.what());
  close_matcher(comm);
}

// False: the library refuses this call.
bool is_valid(Handle comm, Handle datatype) {
  if (peer::knows(comm)) return true;
  if (find_refusal(datatype, comm)) return false;
  peer::get_to_know(comm);
  return true;
}

// Null: the message is not counted. Closed ones, too: claimed sends of another thread go first.
Matcher* matcher_of_untouched(const Envelope& envelope) {
  if (envelope.peer == MPI_PROC_NULL) return nullptr;
  Matcher* const known = known_matcher(envelope.buffer.comm);
  if (known != nullptr) return known;
  return is_valid(envelope.buffer.comm, envelope.buffer.datatype) ? matcher_on(envelope.buffer.comm) : nullptr;
}

std::uint64_t note_untouched_send(const Envelope& envelope, bool is_persistent) {
  Matcher* const all = matcher_of_untouched(envelope);
  if (all == nullptr) return 0;
  if (!is_persistent) all->note_send(envelope.peer, envelope.tag);
  settle(*all);
  return all->name();
}

// A wildcard's completion is not ours to see.
Matcher::Place note_untouched_receive(const Envelope& envelope, bool is_persistent) {
  Matcher* const all = envelope.is_matched ? nullptr : matcher_of_untouched(envelope);
  if (all == nullptr) return {};
  if (!is_persistent) return all->note_receive(envelope.peer, envelope.tag);
  if (envelope.peer < 0) all->close_receives(Outcome::ended_by_persistent);
  return {.queue_place = {all->name()}};
}

}  // namespace

void open_segment() noexcept {
  const bool may_be_direct = model::direct_is_wanted() && device::may_come();
  has_open_segment.store(peer::counts_creations() && may_be_direct);
  counts_messages.store(peer::counts_creations() && (may_be_direct || !text(Option::TRACE).empty()));
  if (has_segment()) OwnSegment::own().publish(job_on_node(), peer::own_rank());
}

void close_segment() noexcept {
  counts_messages.store(false);
  if (has_open_segment.exchange(false)) OwnSegment::own().withdraw();
}

Matcher::Place note_untouched(const Envelope* out, const Envelope* in, bool is_persistent) noexcept try {
  if (!notes_messages()) return {};
  const std::uint64_t name = out != nullptr ? note_untouched_send(*out, is_persistent) : 0;
  Matcher::Place place = in != nullptr ? note_untouched_receive(*in, is_persistent) : Matcher::Place{};
  if (place.queue_place.comm == 0) place.queue_place.comm = name;
  return place;
} catch (...) {
  close_after(caught_error(), (out != nullptr ? out : in)->buffer.comm);
  return {};
}

void note_made(const Envelope* out, const Envelope* in, const QueuePlace& queue_place, bool is_persistent,
               Handle request) noexcept try {
  if (!notes_messages()) return;
  const Envelope& envelope = out != nullptr ? *out : *in;
  if (!is_persistent) library_requests().note(request, {out != nullptr && queue_place.comm != 0, queue_place});
  else if (queue_place.comm != 0)
    persistent_requests().remember(request, {queue_place.comm, envelope.peer, envelope.tag, out != nullptr});
} catch (...) {
  close_after(caught_error(), (out != nullptr ? out : in)->buffer.comm);
}

void close_matcher(Handle comm, Outcome why) noexcept {
  if (!notes_messages() || !peer::knows(comm)) return;
  if (Matcher* const all = matcher_of(comm)) all->close(why);
}

void note_probe() noexcept {
  if (notes_messages()) OwnSegment::own().tell_of_probes();
}

void promise_no_probes(Handle comm) noexcept {
  if (Matcher* const all = notes_messages() ? matcher_on(comm) : nullptr) all->never_probe();
}

void note_receive(Message& message) noexcept try {
  Transfer& transfer = message.ins.first();
  transfer.published_receive = nullptr;
  transfer.queue_place = {};
  transfer.arrow = 0;
  Matcher* const all = notes_messages() ? matcher_of(message.comm) : nullptr;
  if (all == nullptr) return;
  const bool may_be_published = transfer.packed_buffer.may_be_direct();
  Matcher::Place place = all->place_receive(transfer.peer, transfer.tag, may_be_published);
  transfer.queue_place = place.queue_place;
  transfer.arrow = place.arrow;
  if (may_be_published && place.undecided) count_direct(Outcome::from_any_source, transfer.packed_buffer.bytes());
  message.undecided = std::move(place.undecided);
  if (place.match_queue == nullptr) return;
  if (may_be_published && place.is_in_doubt) count_direct(Outcome::undecided, transfer.packed_buffer.bytes());
  transfer.published_receive =
      may_be_published && !place.is_in_doubt ? make_published_receive(place, transfer) : nullptr;
  if (transfer.published_receive) OwnSegment::own().note_unprobed();
  if (transfer.published_receive) transfer.published_receive->counted_by = all;
  else place.match_queue->post(place.n);
} catch (...) {
  close_after(caught_error(), message.comm);
}

UndecidedPtr note_matched_probe(int source, int tag, Handle comm) noexcept try {
  if (!notes_messages() || source == MPI_PROC_NULL) return nullptr;
  Matcher* const all = is_valid(comm, type_byte()) ? matcher_on(comm) : nullptr;
  return all != nullptr ? all->note_matched_probe(source, tag) : nullptr;
} catch (...) {
  close_after(caught_error(), comm);
  return nullptr;
}

void note_posted(const Message& message) noexcept {
  if (notes_messages()) library_requests().note(message.request, {false, message.ins.first().queue_place});
}

void note_send_request(const Message& message) noexcept {
  if (!notes_messages()) return;
  const Matcher* const counts = known_matcher(message.comm);
  library_requests().note(message.request, {true, {counts != nullptr ? counts->name() : 0}});
}

void publish_receive(PublishedReceive& published_receive) noexcept {
  if (published_receive.post()) count_direct(Outcome::published, published_receive.bytes());
}

void note_send(Handle comm, Transfer& transfer, bool may_write) noexcept try {
  transfer.put.reset();
  transfer.unmatched.reset();
  Matcher* const all = notes_messages() ? matcher_of(comm) : nullptr;
  if (all == nullptr) return;
  const std::optional<SequencedSend> sequenced = all->place_send(transfer.peer, transfer.tag);
  const bool is_claimed = may_write && transfer.packed_buffer.may_be_direct();
  if (sequenced && is_claimed && lies_on_one_gpu(transfer.packed_buffer)) transfer.unmatched = sequenced;
} catch (...) {
  close_after(caught_error(), comm);
}

bool look(Transfer& transfer, bool is_next) noexcept {
  const Match match = find_match(*transfer.unmatched, is_next);
  if (match.matched == MatchResult::unmatched) return false;
  if (match.matched == MatchResult::claimed) transfer.put = write_to(*transfer.unmatched, match.claim, transfer);
  transfer.unmatched.reset();
  return true;
}

}  // namespace tempi::message
