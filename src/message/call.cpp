#include "message/call.hpp"

#include <memory>
#include <utility>

#include "base/recycled.hpp"
#include "base/trace.hpp"
#include "message/engine.hpp"
#include "message/parked.hpp"

namespace tempi::message {
namespace {

// A half as passed to the library during a call: its payload, or the program's buffer.
class Lent {
 public:
  Lent(const Half* half, const Payload* payload) {
    if (half != nullptr) given_ = as_given(half->buffer);
    if (payload == nullptr) return;
    packed_.emplace(*payload);
    given_ = {payload->data(), packed_->count(), packed_->type()};
  }
  const Given& given() const { return given_; }

 private:
  Given given_{};
  std::optional<Packed> packed_{};
};

// One buffer in two halves: its payload may not be the buffer itself, which the receive writes.
Sides find_sides_of_one_buffer(const Call& call) {
  FoundSide out = find_side(call.out->buffer, MPI_ANY_SOURCE);
  if (!out.side) return {out, {}};
  if (model::packs_nothing(out.side->strategy)) out.side->strategy = Strategy::device;
  FoundSide in = out;
  in.side->direction = pack::Direction::unpack;
  return {out, in};
}

Sides find_sides(const Call& call) {
  if (call.is_one_buffer) return find_sides_of_one_buffer(call);
  if (call.in == nullptr) return {find_side(call.out->buffer, call.out->peer), {}};
  if (call.out == nullptr) return {{}, find_side(call.in->buffer, call.in->peer)};
  Sides sides{find_side(call.out->buffer, call.out->peer), {}};
  if (!sides.out.refusal) sides.in = find_side(call.in->buffer, call.in->peer);
  return sides;
}

Payload* emplace(std::optional<Payload>& payload, FoundSide& found) {
  return found.side ? &payload.emplace(std::move(*found.side), device::current(), device::Limit::none) : nullptr;
}

// A call that has been counted, and fails, shifts the numbers of later ones.
class ClosesUnlessDone {
 public:
  explicit ClosesUnlessDone(Handle comm) : comm_(comm) {}
  ~ClosesUnlessDone() {
    if (!is_done_) close_meetings(comm_);
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

// A blocking call needs no message: its payloads live as long as the call.
int run_blocking(const Call& call, Sides& sides, Over over) {
  Engine::flush();
  const Meetings::Place place = note_untouched(call.out, call.in, false);
  const UndecidedPtr& undecided = place.undecided;
  const ClosesUnlessDone noted(call.comm());
  std::optional<Payload> out, in;
  if (Payload* const payload = emplace(out, sides.out)) payload->move();
  const Lent lent_out(call.out, out ? &*out : nullptr), lent_in(call.in, emplace(in, sides.in));
  if (!in && !undecided) return noted.done(over(lent_out.given(), lent_in.given(), call.result));
  SeenStatus seen(static_cast<MPI_Status*>(call.result));
  const int code = trace::traced("library wait", [&] { return over(lent_out.given(), lent_in.given(), seen.get()); });
  if (undecided) undecided->decide(code, *seen.get());
  if (in) unpack_received(*in, code, *seen.get(), place.arrow);
  return noted.done(code);
}

// The bytes are with the library. The payload is kept until the send is complete.
void keep_while_sent(MessagePtr&& message) { Engine::get().manages_first(message); }

// The library's request over the payload; a receive is posted, unless its request is persistent.
int make_request(const Call& call, Message& message, Payload* payload, Over over) {
  const Lent lent(&call.half(), payload);
  const auto make = [&] { return over(lent.given(), lent.given(), &message.request); };
  const bool is_posted = call.out == nullptr && call.lifetime == Lifetime::plain && !call.in->is_matched;
  const int code = is_posted ? post_noted(message, make) : make();
  if (call.out != nullptr && code == MPI_SUCCESS) note_send_request(message);
  if (!is_made(code, message.request)) close_meetings(message.comm);
  return code;
}

// Starts the message, unless the program's own request is persistent: that waits for MPI_Start.
void begin(const Call& call, MessagePtr&& made) {
  Message& message = *made;
  store_handle(call.result, message.request);
  const bool is_active_now = call.lifetime == Lifetime::plain;  // the request of a receive, or of MPI_Ibsend
  if (is_active_now) message.state.become(MessageState::started);
  if (is_active_now && call.out != nullptr) return keep_while_sent(std::move(made));
  Engine::get().manage(std::move(made));
  if (call.lifetime == Lifetime::ours) Engine::get().post(message);
}

int run_nonblocking(const Call& call, FoundSide&& found, Over over) {
  Made made = make_message(call, std::move(found), over);
  if (!made.message) return made.code;
  choose_lot(call, *made.message);
  begin(call, std::move(made.message));
  return MPI_SUCCESS;
}

// A recurring call, with the message of an earlier one.
int run_again(const Call& call, MessagePtr&& message, Over over) {
  if (call.out == nullptr) {
    const int code = make_request(call, *message, &message->ins.first().payload, over);
    if (!is_made(code, message->request)) return code;
  }
  begin(call, std::move(message));
  return MPI_SUCCESS;
}

}  // namespace

// The library's request of a buffered send is made when the bytes are packed: it takes them at once.
Made make_message(const Call& call, FoundSide&& found, Over over) {
  const Half& half = call.half();
  auto message = make_recycled<Message>(call.real, half.buffer.comm, call.lifetime);
  message->is_buffered = call.is_buffered && call.lifetime == Lifetime::programs;
  message->is_blocking = call.is_waited_for;
  Payload* payload = nullptr;
  if (found.side) {
    Parts& parts = call.out != nullptr ? message->outs : message->ins;
    payload = &parts.add(std::move(*found.side), device::current(), half.peer, half.tag).payload;
  }
  if (call.out != nullptr && call.lifetime == Lifetime::plain) {
    Engine::flush();
    payload->move();
    note_untouched(call.out, nullptr, false);
  }
  const int code = make_request(call, *message, payload, over);
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
    if (code != MPI_SUCCESS) close_meetings(call.comm());
    return code;
  }
  const int code = pass_on(call, untouched);
  if (code != MPI_SUCCESS) {
    close_meetings(call.comm());
    return code;
  }
  note_made(call.out, call.in, {}, false, load_handle(call.result));
  auto message = make_recycled<Message>(call.real, call.comm(), Lifetime::plain);
  message->request = load_handle(call.result);
  message->undecided = std::move(undecided);
  message->state.become(MessageState::started);
  Engine::get().manage(std::move(message));
  return code;
}

int run_found(const Call& call, Sides&& sides, Untouched untouched, Over over) {
  if (const auto refusal = sides.refusal()) return *refusal;
  if (!sides.any()) return pass_on_noted(call, untouched, over);
  if (is_run_by_requests(call, sides)) return run_by_requests(call, std::move(sides));
  if (call.blocks()) return run_blocking(call, sides, over);
  if (call.out != nullptr && call.in != nullptr) return isendrecv(call, std::move(sides));
  return run_nonblocking(call, std::move(call.out != nullptr ? sides.out : sides.in), over);
}

int run_closely(const Call& call, Untouched untouched, Over over) noexcept {
  const int code = guarded(call.comm(), [&] {
    if (MessagePtr parked = take_parked(call)) return run_again(call, std::move(parked), over);
    return run_found(call, find_sides(call), untouched, over);
  });
  return call.blocks() ? Engine::tended(code) : code;
}

}  // namespace tempi::message
