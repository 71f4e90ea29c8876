#include "transport/ipc/untouched.hpp"

#include <utility>

#include "base/error.hpp"
#include "device/device.hpp"
#include "request/progress.hpp"
#include "transfer/endpoint.hpp"
#include "transport/ipc/library_requests.hpp"
#include "transport/ipc/open_matcher.hpp"

namespace tempi::message {
namespace {

// A second thread has closed the sends: claimed ones of the first one go before what it does next. Without a GPU in use
// there are none.
void settle(const Matcher& all) noexcept {
  if (!all.claims() && device::current() != nullptr) PendingSends::get().settle();
}

// Null: the message is not counted. Closed ones, too: claimed sends of another thread go first.
Matcher* matcher_of_untouched(const Envelope& envelope) {
  if (envelope.peer == MPI_PROC_NULL) return nullptr;
  Matcher* const known = known_matcher(envelope.buffer.comm);
  if (known != nullptr) return known;
  return is_valid(envelope.buffer.comm, envelope.buffer.datatype) ? matcher_on(envelope.buffer.comm) : nullptr;
}

struct NotedSend {
  std::uint64_t comm = 0;
  std::uint64_t arrow = 0;
};

NotedSend note_untouched_send(const Envelope& envelope, bool is_persistent) {
  Matcher* const all = matcher_of_untouched(envelope);
  if (all == nullptr) return {};
  const std::uint64_t arrow = is_persistent ? 0 : all->note_send(envelope.peer, envelope.tag);
  settle(*all);
  return {all->name(), arrow};
}

// A wildcard's completion is not ours to see.
Matcher::Place note_untouched_receive(const Envelope& envelope, bool is_persistent) {
  Matcher* const all = envelope.is_matched ? nullptr : matcher_of_untouched(envelope);
  if (all == nullptr) return {};
  if (!is_persistent) return all->note_receive(envelope.peer, envelope.tag);
  if (envelope.peer < 0) all->close_receives(Outcome::ended_by_persistent);
  return {.queue_place = {all->name()}};
}

Noted noted_of(Matcher::Place&& place) {
  return {std::move(place.undecided), {}, place.arrow, place.queue_place.comm, place.queue_place.order,
          place.queue_place.received};
}

QueuePlace place_of(const Noted& noted) { return {noted.comm, static_cast<Received*>(noted.queue), noted.order}; }

}  // namespace

namespace untouched {

Noted note(const Envelope* out, const Envelope* in, bool is_persistent) noexcept try {
  const NotedSend sent = out != nullptr ? note_untouched_send(*out, is_persistent) : NotedSend{};
  Matcher::Place place = in != nullptr ? note_untouched_receive(*in, is_persistent) : Matcher::Place{};
  if (place.queue_place.comm == 0) place.queue_place.comm = sent.comm;
  Noted noted = noted_of(std::move(place));
  noted.sent_as = sent.arrow;
  return noted;
} catch (...) {
  close_after(caught_error(), (out != nullptr ? out : in)->buffer.comm);
  return {};
}

void note_request(const Envelope* out, const Envelope* in, const Noted& noted, bool is_persistent,
                  Handle request) noexcept try {
  const Envelope& envelope = out != nullptr ? *out : *in;
  if (!is_persistent) library_requests().note(request, {out != nullptr && noted.comm != 0, place_of(noted)});
  else if (noted.comm != 0)
    persistent_requests().remember(request, {noted.comm, envelope.peer, envelope.tag, out != nullptr});
} catch (...) {
  close_after(caught_error(), (out != nullptr ? out : in)->buffer.comm);
}

void note_start(Handle request) noexcept { persistent_requests().note_start(request); }

void note_free(Handle request) noexcept { persistent_requests().forget(request); }

void note_probe() noexcept { ipc::OwnSegment::own().tell_of_probes(); }

UndecidedPtr note_matched_probe(int source, int tag, Handle comm) noexcept try {
  if (source == MPI_PROC_NULL) return nullptr;
  Matcher* const all = is_valid(comm, type_byte()) ? matcher_on(comm) : nullptr;
  return all != nullptr ? all->note_matched_probe(source, tag) : nullptr;
} catch (...) {
  close_after(caught_error(), comm);
  return nullptr;
}

void promise_no_probes(Handle comm) noexcept {
  if (Matcher* const all = matcher_on(comm)) all->never_probe();
}

void note_all_in_call(Handle comm, bool are_in_it) noexcept {
  if (Matcher* const all = matcher_on(comm)) all->note_all_in_call(are_in_it);
}

}  // namespace untouched

}  // namespace tempi::message
