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

// A request of the library over a payload that is not packed yet: `init` makes a persistent one. It is started when the
// payload is ready, or when the program starts it.
int make_send(SmallSend init, const send::Side& side, const Buffer& buffer, int destination, int tag, void* request,
              Lifetime lifetime) {
  auto message = std::make_shared<send::Message>();
  message->comm = buffer.comm;
  message->lifetime = lifetime;
  message->out.emplace(side, device::current(), device::Limit::pool);
  const auto make = [=, comm = buffer.comm, out = &*message->out](Handle* made) {
    const Packed packed(out->bytes());
    return init(out->data(), packed.count(), packed.type(), destination, tag, comm, made);
  };
  if (const int code = make(&message->request); code != MPI_SUCCESS) return code;
  message->is_active = lifetime == Lifetime::ours;
  if (buffer.function == Function::MPI_Bsend_init) message->renew = make;
  Engine& engine = Engine::get();
  engine.manage(message);
  if (message->is_active) engine.post(message);
  store_handle(request, message->request);
  return MPI_SUCCESS;
}

struct SendForms {
  SmallSend small;
  LargeSend large;  // null: not called
  SmallSend init;   // the persistent send that a managed one is made from
};

int isend_untouched(const SendForms& forms, Lifetime lifetime, const Buffer& buffer, int destination, int tag,
                    void* request) {
  if (lifetime == Lifetime::ours) Engine::flush();  // it would overtake the pending ones
  const auto call = [&](auto fn, auto count) {
    return fn(buffer.address, count, buffer.datatype, destination, tag, buffer.comm, request);
  };
  return call_form(
      forms.large, buffer.comm, {buffer.count}, [&] { return call(forms.large, buffer.count); },
      [&] { return call(forms.small, static_cast<int>(buffer.count)); });
}

int isend(const SendForms& forms, Lifetime lifetime, const FoundSide& found, const Buffer& buffer, int destination,
          int tag, void* request) {
  if (found.code != MPI_SUCCESS) return found.code;
  if (found.side) return make_send(forms.init, *found.side, buffer, destination, tag, request, lifetime);
  return isend_untouched(forms, lifetime, buffer, destination, tag, request);
}

int isend(const SendForms& forms, Lifetime lifetime, const Buffer& buffer, int destination, int tag,
          void* request) noexcept {
  if (is_librarys(buffer)) return isend_untouched(forms, lifetime, buffer, destination, tag, request);
  return guarded(buffer.comm, [&] {
    return isend(forms, lifetime, find_side(buffer, destination), buffer, destination, tag, request);
  });
}

}  // namespace

int isend(const Real& real, const FoundSide& found, const Buffer& buffer, int destination, int tag, void* request) {
  return isend({real.MPI_Isend, real.MPI_Isend_c, real.MPI_Send_init}, Lifetime::ours, found, buffer, destination, tag,
               request);
}

// Both forms of one kind of send: of what is called, the persistent one it is made from, and who knows of that.
#define TEMPI_ISEND(name, init, lifetime)                                                                             \
  TEMPI_ENTRY(                                                                                                        \
      name, (const void* buffer, int count, Handle datatype, int destination, int tag, Handle comm, void* request),   \
      passes_messages()                                                                                               \
          ? real.name(buffer, count, datatype, destination, tag, comm, request)                                       \
          : isend({real.name, nullptr, real.init}, lifetime,                                                          \
                  {Function::name, pack::Direction::pack, buffer, count, datatype, comm}, destination, tag, request)) \
  TEMPI_ENTRY(                                                                                                        \
      name##_c,                                                                                                       \
      (const void* buffer, Count count, Handle datatype, int destination, int tag, Handle comm, void* request),       \
      isend({real.name, real.name##_c, real.init}, lifetime,                                                          \
            {Function::name, pack::Direction::pack, buffer, count, datatype, comm}, destination, tag, request))

TEMPI_ISEND(MPI_Isend, MPI_Send_init, Lifetime::ours)
TEMPI_ISEND(MPI_Ibsend, MPI_Bsend_init, Lifetime::ours)
TEMPI_ISEND(MPI_Issend, MPI_Ssend_init, Lifetime::ours)
TEMPI_ISEND(MPI_Irsend, MPI_Rsend_init, Lifetime::ours)
TEMPI_ISEND(MPI_Send_init, MPI_Send_init, Lifetime::programs)
TEMPI_ISEND(MPI_Bsend_init, MPI_Bsend_init, Lifetime::programs)
TEMPI_ISEND(MPI_Ssend_init, MPI_Ssend_init, Lifetime::programs)
TEMPI_ISEND(MPI_Rsend_init, MPI_Rsend_init, Lifetime::programs)

}  // namespace tempi::interpose
