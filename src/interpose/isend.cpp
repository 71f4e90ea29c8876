// MPI-4.1, 3.7.2 and 3.9: nonblocking and persistent sends.
#include "interpose/entry.hpp"
#include "interpose/exchange.hpp"
#include "interpose/quiet.hpp"
#include "send/engine.hpp"

namespace tempi::interpose {
namespace {

using send::Engine;
using Lifetime = send::Message::Lifetime;
using SmallSend = int (*)(const void*, int, Handle, int, int, Handle, void*);
using LargeSend = int (*)(const void*, Count, Handle, int, int, Handle, void*);

struct SendForms {
  const Real& real;
  SmallSend small;
  LargeSend large;  // null: not called
  SmallSend make;   // what the request of a managed one is made by, over the payload
};

// A buffered send takes its bytes at the call, which is also when it says that there is no room for them. The payload
// is kept until the library has no more need of it.
int send_buffered(const send::MessagePtr& message, int code) {
  int flag = 0;
  message->mpi.MPI_Request_get_status(message->request, &flag, MPI_STATUS_IGNORE);
  if (!flag) Engine::get().manage(message);
  return code;
}

// A request of the library over a payload. A buffered send is packed before that; all others are persistent, and
// started when the payload is ready, or when the program starts them.
int make_send(const SendForms& forms, const send::Side& side, const Buffer& buffer, int destination, int tag,
              void* request, Lifetime lifetime) {
  const auto message = std::make_shared<send::Message>(forms.real, buffer.comm, lifetime);
  send::Payload& out = message->out.emplace(side, device::current(), device::Limit::pool);
  const auto send = [=, &out, comm = buffer.comm](SmallSend fn, Handle* made) {
    const Packed packed(out.bytes());
    return fn(out.data(), packed.count(), packed.type(), destination, tag, comm, made);
  };
  const bool is_sent_here = lifetime == Lifetime::plain;
  if (is_sent_here) {
    Engine::flush();
    out.move();
  }
  const int code = send(forms.make, &message->request);
  if (!is_made(code, message->request)) return code;
  store_handle(request, message->request);
  if (is_sent_here) return send_buffered(message, code);
  message->is_active = lifetime == Lifetime::ours;
  if (buffer.function == Function::MPI_Bsend_init) {
    message->send_buffered = [send, ibsend = forms.real.MPI_Ibsend](Handle* made) { return send(ibsend, made); };
  }
  Engine::get().manage(message);
  if (message->is_active) Engine::get().post(message);
  return MPI_SUCCESS;
}

int isend_untouched(const SendForms& forms, Lifetime lifetime, const Buffer& buffer, int destination, int tag,
                    void* request) {
  if (lifetime != Lifetime::programs) Engine::flush();  // it would overtake the pending ones
  const auto call = [&](auto fn, auto count) {
    return fn(buffer.address, count, buffer.datatype, destination, tag, buffer.comm, request);
  };
  return call_form(
      forms.large, buffer.comm, {buffer.count}, [&] { return call(forms.large, buffer.count); },
      [&] { return call(forms.small, static_cast<int>(buffer.count)); });
}

int isend(const SendForms& forms, Lifetime lifetime, const FoundSide& found, const Buffer& buffer, int destination,
          int tag, void* request) {
  if (found.refusal) return *found.refusal;
  if (found.side) return make_send(forms, *found.side, buffer, destination, tag, request, lifetime);
  return isend_untouched(forms, lifetime, buffer, destination, tag, request);
}

int isend(const SendForms& forms, Lifetime lifetime, const Buffer& buffer, int destination, int tag,
          void* request) noexcept {
  if (request == nullptr || belongs_to_library(buffer)) {
    return isend_untouched(forms, lifetime, buffer, destination, tag, request);
  }
  return guarded(buffer.comm, [&] {
    return isend(forms, lifetime, find_side(buffer, destination), buffer, destination, tag, request);
  });
}

}  // namespace

int isend(const Real& real, const FoundSide& found, const Buffer& buffer, int destination, int tag, void* request) {
  return isend({real, real.MPI_Isend, real.MPI_Isend_c, real.MPI_Send_init}, Lifetime::ours, found, buffer, destination,
               tag, request);
}

// Both forms of one kind of send: of what is called, what a managed one is made by, and whose the request is.
#define TEMPI_ISEND(name, make, lifetime)                                                                             \
  TEMPI_ENTRY(                                                                                                        \
      name, (const void* buffer, int count, Handle datatype, int destination, int tag, Handle comm, void* request),   \
      passes_messages()                                                                                               \
          ? real.name(buffer, count, datatype, destination, tag, comm, request)                                       \
          : isend({real, real.name, nullptr, real.make}, lifetime,                                                    \
                  {Function::name, pack::Direction::pack, buffer, count, datatype, comm}, destination, tag, request)) \
  TEMPI_ENTRY(                                                                                                        \
      name##_c,                                                                                                       \
      (const void* buffer, Count count, Handle datatype, int destination, int tag, Handle comm, void* request),       \
      isend({real, real.name, real.name##_c, real.make}, lifetime,                                                    \
            {Function::name, pack::Direction::pack, buffer, count, datatype, comm}, destination, tag, request))

TEMPI_ISEND(MPI_Isend, MPI_Send_init, Lifetime::ours)
TEMPI_ISEND(MPI_Ibsend, MPI_Ibsend, Lifetime::plain)
TEMPI_ISEND(MPI_Issend, MPI_Ssend_init, Lifetime::ours)
TEMPI_ISEND(MPI_Irsend, MPI_Rsend_init, Lifetime::ours)
TEMPI_ISEND(MPI_Send_init, MPI_Send_init, Lifetime::programs)
TEMPI_ISEND(MPI_Bsend_init, MPI_Bsend_init, Lifetime::programs)
TEMPI_ISEND(MPI_Ssend_init, MPI_Ssend_init, Lifetime::programs)
TEMPI_ISEND(MPI_Rsend_init, MPI_Rsend_init, Lifetime::programs)

}  // namespace tempi::interpose
