// Blocking calls of messages that may be direct, to peers that a transport reaches: a receive is published before
// anything waits, and a send may find its published receive late. They are carried out by requests.
#include <utility>

#include "call/call.hpp"
#include "peer/peer.hpp"
#include "request/completion.hpp"
#include "request/progress.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

bool may_be_direct(const Envelope* envelope, const FoundEndpoint& found) {
  if (envelope == nullptr || !found.endpoint || envelope->buffer.function == Function::MPI_Bsend) return false;
  return found.endpoint->may_be_direct && is_reached(envelope->buffer.comm, envelope->peer);
}

// False: the library refuses the send of an MPI_Sendrecv. Its handler may jump, and a receive that was posted before
// would take another message.
bool can_be_sent(const Envelope& out) {
  return out.tag >= 0 && (out.peer == MPI_PROC_NULL || peer::rank_in_world(out.buffer.comm, out.peer) >= 0);
}

int receive(const Call& call, FoundEndpoint&& found, Handle* received) {
  const Envelope& in = *call.in;
  const Real& real = call.real;
  const auto post = [&](const Given& given, void* made) {
    return call_given(real.MPI_Irecv, real.MPI_Irecv_c, in.buffer.comm, given, in.peer, in.tag, in.buffer.comm, made);
  };
  return run_found(
      {real, Lifetime::plain, nullptr, call.in, received}, {{}, std::move(found)},
      [&] { return post(as_given(in.buffer), received); },
      [&](const Given&, const Given& given, void* made) { return post(given, made); });
}

using Init = LibraryFunction<int(const void*, int, Handle, int, int, Handle, void*)>;

// By which the request of a send is made that completes as this call does.
Init init_of(const Real& real, Function function) {
  if (function == Function::MPI_Ssend) return real.MPI_Ssend_init;
  return function == Function::MPI_Rsend ? real.MPI_Rsend_init : real.MPI_Send_init;
}

// The message is not sent: the program is told of that alone.
void take_back(const Real& real, Handle& received) {
  cancel(real, &received);
  wait(real, &received, MPI_STATUS_IGNORE);
}

}  // namespace

int send_outgoing(const Call& call, FoundEndpoint&& found, Handle* sent) {
  const Envelope& out = *call.out;
  const Real& real = call.real;
  const Handle comm = out.buffer.comm;
  return run_found(
      {real, Lifetime::ours, call.out, nullptr, sent, false, false, call.blocks()}, {std::move(found), {}},
      [&] {
        return call_given(real.MPI_Isend, real.MPI_Isend_c, comm, as_given(out.buffer), out.peer, out.tag, comm, sent);
      },
      [&](const Given& given, const Given&, void* made) {
        const Init init = init_of(real, out.buffer.function);
        return init(given.address, static_cast<int>(given.count), given.type, out.peer, out.tag, comm, made);
      });
}

bool is_run_by_requests(const Call& call, const Endpoints& endpoints) {
  if (!call.blocks() || call.is_one_buffer || !has_transport()) return false;
  if (call.in != nullptr && call.out != nullptr && !can_be_sent(*call.out)) return false;
  return may_be_direct(call.out, endpoints.out) || may_be_direct(call.in, endpoints.in);
}

int run_by_requests(const Call& call, Endpoints&& endpoints) {
  Handle received = request_null(), sent = request_null();
  if (call.in != nullptr) {
    const int code = receive(call, std::move(endpoints.in), &received);
    if (!is_made(code, received)) return code;
  }
  if (call.out != nullptr) {
    const int code = guarded(call.comm(), [&] { return send_outgoing(call, std::move(endpoints.out), &sent); });
    if (!is_made(code, sent)) {
      if (call.in != nullptr) take_back(call.real, received);
      return code;
    }
  }
  const int send_code = call.out != nullptr ? wait(call.real, &sent, MPI_STATUS_IGNORE) : MPI_SUCCESS;
  const int code = call.in != nullptr ? wait(call.real, &received, static_cast<MPI_Status*>(call.result)) : MPI_SUCCESS;
  return send_code != MPI_SUCCESS ? send_code : code;
}

}  // namespace tempi::message
