// MPI-4.1, 3.10: nonblocking send-receive.
#include <optional>

#include "interpose/exchange.hpp"
#include "send/engine.hpp"

namespace tempi::interpose {
namespace {

using send::Message;
using send::MessagePtr;

int init_receive(Message& message, const Exchange& exchange, const FoundSide& found) {
  const Real& mpi = message.mpi;
  Given given{exchange.in.address, exchange.in.count, exchange.in.datatype};
  if (found.side) {
    message.in.emplace(*found.side, device::current(), device::Limit::pool);
    given.address = message.in->data();
  }
  std::optional<Packed> packed;
  if (found.side) {
    packed.emplace(*message.in);
    given = {given.address, packed->count(), packed->type()};
  }
  const auto init = [&](auto fn, auto count) {
    return fn(given.writable(), count, given.type, exchange.source, exchange.recvtag, message.comm, &message.request);
  };
  return call_form(
      mpi.MPI_Recv_init_c, message.comm, {given.count}, [&] { return init(mpi.MPI_Recv_init_c, given.count); },
      [&] { return init(mpi.MPI_Recv_init, static_cast<int>(given.count)); });
}

MessagePtr message_of(const Real& real, Handle request, Handle comm) {
  if (MessagePtr managed = send::Engine::get().take(request)) return managed;
  auto plain = std::make_shared<Message>(real, comm);
  plain->request = request;
  return plain;
}

// MPI_PROC_NULL: the request is the send's. Libraries share one request among receives from nobody, or take a
// persistent one for inactive.
int send_alone(const Real& real, const Exchange& exchange, const FoundSide& out, void* request) {
  Handle sent = request_null();
  const int code = isend(real, out, exchange.out, exchange.destination, exchange.sendtag, &sent);
  if (!is_made(code, sent)) return code;
  if (const MessagePtr managed = send::Engine::get().find(sent)) managed->receives_from_nobody = true;
  store_handle(request, sent);
  return code;
}

}  // namespace

// Not the library's MPI_Isendrecv, whose status is empty in MPICH.
int isendrecv(const Real& real, const Exchange& exchange, const FoundSide& out, const FoundSide& in, void* request) {
  if (exchange.source == MPI_PROC_NULL) return send_alone(real, exchange, out, request);
  const auto receive = std::make_shared<Message>(real, exchange.in.comm, Message::Lifetime::ours);
  if (const int code = init_receive(*receive, exchange, in); !is_made(code, receive->request)) return code;
  Handle sent = request_null();
  if (const int code = isend(real, out, exchange.out, exchange.destination, exchange.sendtag, &sent);
      !is_made(code, sent)) {
    real.MPI_Request_free(&receive->request);
    return code;
  }
  receive->sibling = message_of(real, sent, exchange.out.comm);
  receive->start_code = real.MPI_Start(&receive->request);
  send::Engine::get().manage(receive);
  store_handle(request, receive->request);
  return MPI_SUCCESS;
}

}  // namespace tempi::interpose
