// MPI-4.1, 3.10: nonblocking send-receive.
#include <optional>

#include "interpose/exchange.hpp"
#include "send/engine.hpp"

namespace tempi::interpose {
namespace {

using send::Message;
using send::MessagePtr;

int init_receive(Message& message, const Exchange& exchange, const FoundSide& found) {
  const Real& mpi = real_pmpi();
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

MessagePtr message_of(Handle request, Handle comm) {
  if (MessagePtr managed = send::Engine::get().take(request)) return managed;
  auto plain = std::make_shared<Message>();
  plain->request = request;
  plain->comm = comm;
  return plain;
}

// What MPI_PROC_NULL sends has no request worth looking at: libraries share one, or take a persistent one for inactive.
int send_alone(const Exchange& exchange, const FoundSide& out, void* request) {
  const int code = isend(real_pmpi(), out, exchange.out, exchange.destination, exchange.sendtag, request);
  if (code == MPI_SUCCESS) send::Engine::get().find(load_handle(request))->receives_from_nobody = true;
  return code;
}

}  // namespace

// Not the library's MPI_Isendrecv, whose status is empty in MPICH.
int isendrecv(const Exchange& exchange, const FoundSide& out, const FoundSide& in, void* request) {
  const Real& mpi = real_pmpi();
  if (exchange.source == MPI_PROC_NULL) return send_alone(exchange, out, request);
  auto receive = std::make_shared<Message>();
  receive->comm = exchange.in.comm;
  receive->lifetime = Message::Lifetime::ours;
  if (const int code = init_receive(*receive, exchange, in); code != MPI_SUCCESS) return code;
  Handle sent = 0;
  if (const int code = isend(mpi, out, exchange.out, exchange.destination, exchange.sendtag, &sent);
      code != MPI_SUCCESS) {
    mpi.MPI_Request_free(&receive->request);
    return code;
  }
  receive->sibling = message_of(sent, exchange.out.comm);
  receive->start_code = mpi.MPI_Start(&receive->request);
  send::Engine::get().manage(receive);
  store_handle(request, receive->request);
  return MPI_SUCCESS;
}

}  // namespace tempi::interpose
