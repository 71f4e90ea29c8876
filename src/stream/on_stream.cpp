#include "stream/on_stream.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "base/options.hpp"
#include "mpi/errors.hpp"
#include "request/progress.hpp"
#include "stream/enqueue.hpp"
#include "stream/exchanges.hpp"
#include "stream/ordinary.hpp"

namespace tempi::message {
namespace {

using Clock = std::chrono::steady_clock;

bool is_point_to_point(const Message& message) {
  return !message.is_collective() && !message.is_buffered && message.lifetime == Lifetime::programs &&
         message.outs.empty() != message.ins.empty();
}

// At the first start on a stream.
void begin(Message& message, Handle told) {
  auto state = std::make_unique<OnStream>();
  state->told = told;
  if (is_point_to_point(message) && has_transport()) {
    state->is_send = !message.outs.empty();
    Transfer& transfer = state->is_send ? message.outs.first() : message.ins.first();
    state->at = transfer.packed_buffer.box_move().laid_out().place.first;
    if (transfer.transport.open_channel != nullptr)
      state->end = transfer.transport.open_channel(message.comm, transfer, state->is_send);
  }
  message.on_stream = std::move(state);
}

// The kernels of a channel know the buffer by its address only.
// `seen`: an allocation that is there.
bool has_lost_buffer(const Message& message, device::Location& seen) {
  const OnStream& its = on_stream(message);
  if (!its.end || its.end->look(false) != ChannelEnd::State::connected || its.at == seen) return false;
  device::Device* const device = device::current();
  const bool is_there = device != nullptr && device->exists(its.at);
  if (is_there) seen = its.at;
  return !is_there;
}

// A request without a channel. While exchanges of it are queued, a thread uses its message.
int start_again(OrdinaryRequest& known, AllStarted& started) {
  if (const int code = take_failure(known); code != MPI_SUCCESS) return code;
  if (Message* const message = known.message.get()) {
    if (message->is_started_on_stream() || is_active(known)) return raise(on_stream(*message).told, MPI_ERR_REQUEST);
    message->on_stream->is_started = true;
  }
  started.push_back({known.request, known.message});
  return MPI_SUCCESS;
}

// A collective operation: the requests of its rounds are started instead of it.
int start_parts(Started& one, device::Location& seen) {
  try {
    one.rounds = one.message->hook->stream_rounds();
  } catch (...) {
    return raise(one.message->comm, caught_error());
  }
  if (!one.rounds) return MPI_SUCCESS;
  one.parts.resize(one.rounds->n_rounds());
  for (std::size_t round = 0; round < one.parts.size(); ++round) {
    for (const Handle request : one.rounds->requests(round)) {
      const int code =
          start_one(request, ManagedRequests::get().find(request), one.parts[round], seen, one.message->comm);
      if (code != MPI_SUCCESS) return code;
    }
  }
  return MPI_SUCCESS;
}

const char* text_of(pack::Loss why) {
  switch (why) {
    case pack::Loss::timed_out:
      return "an exchange of a request that was started on a stream has ended after TEMPI_STREAM_TIMEOUT";
    case pack::Loss::peer_has_failed:
      return "a GPU of the process at the other end of a request that was started on a stream has failed";
    case pack::Loss::has_failed:
      return "a GPU of this process has failed before the end of an exchange that was started on a stream";
    case pack::Loss::none:
    case pack::Loss::peer_has_ended: break;
  }
  return "the process at the other end of a request that was started on a stream has ended";
}

// Of a send or a receive that TEMPI handles; null: of all other messages.
const Transfer* only_transfer(const Message& message) {
  if (message.is_collective() || message.outs.empty() == message.ins.empty()) return nullptr;
  return message.outs.empty() ? &message.ins.first() : &message.outs.first();
}

std::string described(const Message& message) {
  const Transfer* const transfer = only_transfer(message);
  if (transfer == nullptr) return "";
  return std::string(message.ins.empty() ? ": send to rank " : ": receive from rank ") +
         std::to_string(transfer->peer) + ", tag " + std::to_string(transfer->tag);
}

bool is_open(const Started& one) {
  return one.message && on_stream(*one.message).end &&
         on_stream(*one.message).end->look(false) == ChannelEnd::State::open;
}

}  // namespace

Mutex<Lock::enqueued>& enqueued_mutex() {
  static auto& mutex = *new Mutex<Lock::enqueued>;  // never destroyed: requests may end while the process exits
  return mutex;
}

OnStream::~OnStream() {
  if (!end) return;
  const std::lock_guard lock(enqueued_mutex());
  forget_exchanges_of(*end);
}

int start_one(Handle request, MessagePtr&& message, AllStarted& started, device::Location& seen, Handle told) {
  if (const OrdinaryRequestPtr known = find_ordinary(request)) return start_again(*known, started);
  if (message) {
    if (told == 0) told = message->comm;
    if (message->is_active() || message->is_started_on_stream()) return raise(told, MPI_ERR_REQUEST);
    if (!message->on_stream) begin(*message, told);
    if (has_lost_buffer(*message, seen))
      return raise(told, Error(ErrorKind::stream,
                               "the program has freed the buffer of a request that was "
                               "started on a stream. Make a new request"));
    message->on_stream->is_started = true;
  }
  if (!message) skip_channels(request);
  Started& one = started.emplace_back(request, std::move(message));
  return one.message && one.message->is_collective() ? start_parts(one, seen) : MPI_SUCCESS;
}

int tell_of_part(const Message* message, int code) {
  const bool is_part = message != nullptr && message->on_stream && on_stream(*message).told != message->comm;
  return is_part && code != MPI_SUCCESS ? raise(on_stream(*message).told, code) : code;
}

void take_back(const AllStarted& started) {
  for (const Started& one : started) {
    if (one.message) one.message->on_stream->is_started = false;
    for (const AllStarted& round : one.parts) take_back(round);
  }
}

bool has_channel(const Started& one) {
  return one.message && on_stream(*one.message).end &&
         on_stream(*one.message).end->look(false) == ChannelEnd::State::connected;
}

bool shares_gpu(const Started& one) {
  return one.message && on_stream(*one.message).end && on_stream(*one.message).end->shares_gpu();
}

std::chrono::seconds stream_timeout() {
  constexpr std::int64_t kMostSeconds = 1'000'000'000;  // its nanoseconds, added to the time of a GPU, fit 64 bits
  return std::chrono::seconds(std::clamp<std::int64_t>(number(Option::STREAM_TIMEOUT), 0, kMostSeconds));
}

bool has_open(const AllStarted& all) { return std::any_of(all.begin(), all.end(), is_open); }

void await_channels(const AllStarted& all) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(number(Option::CHANNEL_TIMEOUT));
  while (has_open(all)) {
    {
      const std::lock_guard lock(enqueued_mutex());
      drop_ended_exchanges();  // a new buffer may lie where a mapping of a freed one is
    }
    make_progress();
    std::this_thread::yield();
    if (Clock::now() < deadline) continue;
    for (const Started& one : all) {
      if (is_open(one)) on_stream(*one.message).end->look(true);
    }
  }
}

bool look_for_channel(Handle request, bool stops) {
  if (find_ordinary(request)) return true;
  const MessagePtr message = ManagedRequests::get().find(request);
  if (!message) skip_channels(request);
  if (!message || message->is_collective()) return true;
  if (!message->on_stream) begin(*message, message->comm);
  const std::shared_ptr<ChannelEnd>& end = on_stream(*message).end;
  if (!end || end->look(stops) != ChannelEnd::State::open) return true;
  const std::lock_guard lock(enqueued_mutex());
  drop_ended_exchanges();  // a new buffer may lie where a mapping of a freed one is
  return stops;
}

Error error_of_lost(const Message* message, pack::Loss why) {
  return {ErrorKind::unexpected, text_of(why) + (message != nullptr ? described(*message) : "")};
}

std::string why_ordinary(const Started& one) {
  if (one.message && on_stream(*one.message).end) return on_stream(*one.message).end->why_closed();
  const Transfer* const transfer = one.message ? only_transfer(*one.message) : nullptr;
  if (transfer == nullptr || transfer->transport.open_channel != nullptr)
    return "TEMPI moves no data of its messages by kernels";
  return std::string("the transport to its peer, ") + transfer->transport.name + ", has no channels";
}

std::string why_no_channel(Handle request) {
  const MessagePtr message = ManagedRequests::get().find(request);
  if (!message) return why_ordinary({request, nullptr});
  if (!message->on_stream) return "it was not started on a stream";
  const Started one{request, message};
  if (has_channel(one)) return "";
  if (has_open({one})) return "its peer has not started it on a stream";
  const std::shared_ptr<StreamRounds> rounds = message->is_collective() ? message->hook->stream_rounds() : nullptr;
  if (!rounds) return why_ordinary(one);
  for (std::size_t round = 0; round < rounds->n_rounds(); ++round) {
    for (const Handle part : rounds->requests(round)) {
      if (std::string why = why_no_channel(part); !why.empty()) return why;
    }
  }
  return "";
}

}  // namespace tempi::message
