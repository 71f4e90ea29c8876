#include "call/call.hpp"

#include <memory>
#include <utility>

#include "base/recycled.hpp"
#include "base/trace.hpp"
#include "peer/peer.hpp"
#include "request/progress.hpp"
#include "request/repeated_calls.hpp"

namespace tempi::message {
namespace {

// An envelope as passed to the library during a call: its packed buffer, or the program's buffer.
class Lent {
 public:
  Lent(const Envelope* envelope, const PackedBuffer* packed_buffer) {
    if (envelope != nullptr) given_ = as_given(envelope->buffer);
    if (packed_buffer == nullptr) return;
    packed_.emplace(*packed_buffer);
    given_ = {packed_buffer->data(), packed_->count(), packed_->type()};
  }
  const Given& given() const { return given_; }

 private:
  Given given_{};
  std::optional<PackedType> packed_{};
};

// One buffer in two envelopes: its packed buffer may not be the buffer itself, which the receive writes.
Endpoints find_endpoints_of_one_buffer(const Call& call) {
  FoundEndpoint out = find_endpoint(call.out->buffer, MPI_ANY_SOURCE);
  if (!out.endpoint) return {out, {}};
  if (model::packs_nothing(out.endpoint->strategy)) out.endpoint->strategy = Strategy::device;
  FoundEndpoint in = out;
  in.endpoint->direction = pack::Direction::unpack;
  return {out, in};
}

Endpoints find_endpoints(const Call& call) {
  if (call.is_one_buffer) return find_endpoints_of_one_buffer(call);
  if (call.in == nullptr) return {find_endpoint(call.out->buffer, call.out->peer), {}};
  if (call.out == nullptr) return {{}, find_endpoint(call.in->buffer, call.in->peer)};
  Endpoints endpoints{find_endpoint(call.out->buffer, call.out->peer), {}};
  if (!endpoints.out.refusal) endpoints.in = find_endpoint(call.in->buffer, call.in->peer);
  return endpoints;
}

PackedBuffer* emplace(std::optional<PackedBuffer>& packed_buffer, FoundEndpoint& found) {
  return found.endpoint ? &packed_buffer.emplace(std::move(*found.endpoint), device::current(), device::Limit::none)
                        : nullptr;
}

// A call that has been counted, and fails, shifts the numbers of later ones.
class ClosesUnlessDone {
 public:
  explicit ClosesUnlessDone(Handle comm) : comm_(comm) {}
  ~ClosesUnlessDone() {
    if (!is_done_) lose_order(comm_);
  }
  ClosesUnlessDone(const ClosesUnlessDone&) = delete;
  ClosesUnlessDone& operator=(const ClosesUnlessDone&) = delete;
  int done(int code) const {
    is_done_ = code == MPI_SUCCESS;
    return code;
  }

 private:
  const Handle comm_;
  mutable bool is_done_ = false;
};

// A blocking call needs no message: its packed buffers live as long as the call.
int run_blocking(const Call& call, Endpoints& endpoints, Over over) {
  flush_sends();
  const NotedByAll noted = note(call.out, call.in, false);
  const UndecidedPtr& undecided = noted.undecided;
  const ClosesUnlessDone closes(call.comm());
  std::optional<PackedBuffer> out, in;
  if (PackedBuffer* const packed_buffer = emplace(out, endpoints.out)) {
    trace::note_send(peer::rank_in_world(call.comm(), call.out->peer), noted.sent_as);
    packed_buffer->move();
  }
  const Lent lent_out(call.out, out ? &*out : nullptr), lent_in(call.in, emplace(in, endpoints.in));
  if (!in && !undecided) return closes.done(over(lent_out.given(), lent_in.given(), call.result));
  SeenStatus seen(static_cast<MPI_Status*>(call.result));
  const int code = trace::traced("library wait", [&] { return over(lent_out.given(), lent_in.given(), seen.get()); });
  if (undecided) undecided->decide(code, *seen.get());
  if (in) unpack_received(*in, code, *seen.get(), noted.arrow);
  return closes.done(code);
}

// The bytes are with the library. The packed buffer is kept until the send is complete.
void keep_while_sent(MessagePtr&& message) { ManagedRequests::get().manages_first(message); }

// The library's request over the packed buffer; a receive is posted, unless its request is persistent.
int make_request(const Call& call, Message& message, PackedBuffer* packed_buffer, Over over) {
  const Lent lent(&call.envelope(), packed_buffer);
  const auto make = [&] { return over(lent.given(), lent.given(), &message.request); };
  const bool is_posted = call.out == nullptr && call.lifetime == Lifetime::plain && !call.in->is_matched;
  const int code = is_posted ? post_noted(message, make) : make();
  if (call.out != nullptr && code == MPI_SUCCESS && notes_messages())
    message.outs.first().transport.note_send_request(message);
  if (!is_made(code, message.request)) lose_order(message.comm);
  return code;
}

// Starts the message, unless the program's own request is persistent: that waits for MPI_Start.
void begin(const Call& call, MessagePtr&& made) {
  Message& message = *made;
  store_handle(call.result, message.request);
  const bool is_active_now = call.lifetime == Lifetime::plain;  // the request of a receive, or of MPI_Ibsend
  if (is_active_now) message.state.become(MessageState::started);
  if (is_active_now && call.out != nullptr) return keep_while_sent(std::move(made));
  ManagedRequests::get().manage(std::move(made));
  if (call.lifetime == Lifetime::ours) PendingSends::get().post(message);
}

int run_nonblocking(const Call& call, FoundEndpoint&& found, Over over) {
  Made made = make_message(call, std::move(found), over);
  if (!made.message) return made.code;
  choose_request_cache(call.envelope().buffer, *made.message);
  begin(call, std::move(made.message));
  return MPI_SUCCESS;
}

// A recurring call, with the message of an earlier one.
int run_again(const Call& call, MessagePtr&& message, Over over) {
  if (call.out == nullptr) {
    const int code = make_request(call, *message, &message->ins.first().packed_buffer, over);
    if (!is_made(code, message->request)) return code;
  }
  begin(call, std::move(message));
  return MPI_SUCCESS;
}

}  // namespace

// The library's request of a buffered send is made when the bytes are packed: it takes them at once.
Made make_message(const Call& call, FoundEndpoint&& found, Over over) {
  const Envelope& envelope = call.envelope();
  auto message = make_recycled<Message>(call.real, envelope.buffer.comm, call.lifetime);
  message->is_buffered = call.is_buffered && call.lifetime == Lifetime::programs;
  message->is_blocking = call.is_waited_for;
  PackedBuffer* packed_buffer = nullptr;
  if (found.endpoint) {
    Transfers& parts = call.out != nullptr ? message->outs : message->ins;
    packed_buffer =
        &parts.add(std::move(*found.endpoint), device::current(), envelope.buffer.comm, envelope.peer, envelope.tag)
             .packed_buffer;
  }
  if (call.out != nullptr && call.lifetime == Lifetime::plain) {
    flush_sends();
    packed_buffer->move();
    note(call.out, nullptr, false);
  }
  const int code = make_request(call, *message, packed_buffer, over);
  if (!is_made(code, message->request)) return {nullptr, code};
  return {std::move(message), MPI_SUCCESS};
}

// A blocking call's status is the program's; where that is ignored, one of ours. MPI_Sendrecv_replace cannot have ours,
// as its `over` takes two buffers.
int pass_on_undecided(const Call& call, UndecidedPtr undecided, Untouched untouched, Over over) {
  if (call.blocks()) {
    SeenStatus seen(static_cast<MPI_Status*>(call.result));
    const bool is_seen = seen.get() == call.result || !call.is_one_buffer;
    const Lent out(call.out, nullptr), in(call.in, nullptr);
    const bool is_over = is_seen && seen.get() != call.result;
    const int code = pass_on(call, [&] { return is_over ? over(out.given(), in.given(), seen.get()) : untouched(); });
    if (is_seen) undecided->decide(code, *seen.get());
    if (code != MPI_SUCCESS) lose_order(call.comm());
    return code;
  }
  const int code = pass_on(call, untouched);
  if (code != MPI_SUCCESS) {
    lose_order(call.comm());
    return code;
  }
  note_request(call.out, call.in, {}, false, call.result);
  auto message = make_recycled<Message>(call.real, call.comm(), Lifetime::plain);
  message->request = load_handle(call.result);
  message->undecided = std::move(undecided);
  message->state.become(MessageState::started);
  ManagedRequests::get().manage(std::move(message));
  return code;
}

int run_found(const Call& call, Endpoints&& endpoints, Untouched untouched, Over over) {
  if (const auto refusal = endpoints.refusal()) return *refusal;
  if (!endpoints.any()) return pass_on_noted(call, untouched, over);
  if (is_run_by_requests(call, endpoints)) return run_by_requests(call, std::move(endpoints));
  if (call.blocks()) return run_blocking(call, endpoints, over);
  if (call.out != nullptr && call.in != nullptr) return isendrecv(call, std::move(endpoints));
  return run_nonblocking(call, std::move(call.out != nullptr ? endpoints.out : endpoints.in), over);
}

int run_closely(const Call& call, Untouched untouched, Over over) noexcept {
  const int code = guarded(call.comm(), [&] {
    MessagePtr cached = call.has_one_envelope() ? take_cached(call.real, call.envelope()) : nullptr;
    if (cached) return run_again(call, std::move(cached), over);
    return run_found(call, find_endpoints(call), untouched, over);
  });
  return call.blocks() ? tended(code) : code;
}

}  // namespace tempi::message
