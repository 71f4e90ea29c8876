// MPI-4.1, 3.2.4, 3.7.2, 3.8 and 3.9: receives.
#include "base/trace.hpp"
#include "interpose/entry.hpp"
#include "interpose/matched.hpp"
#include "interpose/message_call.hpp"
#include "interpose/quiet.hpp"
#include "send/engine.hpp"
#include "send/finish.hpp"

namespace tempi::interpose {
namespace {

using send::Engine;
using send::Payload;
using Lifetime = send::Message::Lifetime;

// The four receives differ in how they name the message and what they leave behind; `call` is the library's, given a
// buffer: call(Given) with the form that the program called, or the int form.
template <class Call>
int receive_untouched(const Buffer& buffer, MPI_Status* status, const Call& call) {
  Engine::flush();
  return Engine::tended(call(Given{buffer.address, buffer.count, buffer.datatype}, status));
}

template <class Call>
int receive(const FoundSide& found, const Buffer& buffer, MPI_Status* status, const Call& call) {
  if (found.refusal) return *found.refusal;
  if (!found.side) return receive_untouched(buffer, status, call);
  Engine::flush();
  Payload payload(*found.side, device::current(), device::Limit::none);
  const Packed packed(payload);
  send::SeenStatus seen(status);
  const Given given{payload.data(), packed.count(), packed.type()};
  const int code = trace::traced("library wait", [&] { return call(given, seen.get()); });
  send::unpack_received(payload, code, *seen.get());
  return Engine::tended(code);
}

template <class Call>
int ireceive(const Real& real, const FoundSide& found, const Buffer& buffer, Lifetime lifetime, void* request,
             const Call& call) {
  if (found.refusal) return *found.refusal;
  if (!found.side) return call(Given{buffer.address, buffer.count, buffer.datatype}, request);
  const auto message = std::make_shared<send::Message>(real, buffer.comm, lifetime);
  message->is_active = lifetime != Lifetime::programs;
  message->in.emplace(*found.side, device::current(), device::Limit::pool);
  const Packed packed(*message->in);
  const int code = call(Given{message->in->data(), packed.count(), packed.type()}, &message->request);
  if (!is_made(code, message->request)) return code;
  Engine::get().manage(message);
  store_handle(request, message->request);
  return MPI_SUCCESS;
}

// fn(buffer, count, datatype, rest...) in its large form where there is one, else in the other.
template <class Small, class Large, class... Rest>
int call_receive(Small small, Large large, Handle comm, const Given& given, Rest... rest) {
  return call_form(
      large, comm, {given.count}, [&] { return large(given.writable(), given.count, given.type, rest...); },
      [&] { return small(given.writable(), static_cast<int>(given.count), given.type, rest...); });
}

using SmallRecv = int (*)(void*, int, Handle, int, int, Handle, MPI_Status*);
using LargeRecv = int (*)(void*, Count, Handle, int, int, Handle, MPI_Status*);

int recv(SmallRecv small, LargeRecv large, const Buffer& buffer, int source, int tag, MPI_Status* status) noexcept {
  const auto call = [&](const Given& given, MPI_Status* seen) {
    return call_receive(small, large, buffer.comm, given, source, tag, buffer.comm, seen);
  };
  if (!send::is_status(status) || belongs_to_library(buffer)) return receive_untouched(buffer, status, call);
  return guarded(buffer.comm, [&] { return receive(find_side(buffer, source), buffer, status, call); });
}

using SmallIrecv = int (*)(void*, int, Handle, int, int, Handle, void*);
using LargeIrecv = int (*)(void*, Count, Handle, int, int, Handle, void*);

int irecv(const Real& real, SmallIrecv small, LargeIrecv large, Lifetime lifetime, const Buffer& buffer, int source,
          int tag, void* request) noexcept {
  const auto call = [&](const Given& given, void* made) {
    return call_receive(small, large, buffer.comm, given, source, tag, buffer.comm, made);
  };
  if (request == nullptr || belongs_to_library(buffer))
    return call({buffer.address, buffer.count, buffer.datatype}, request);
  return guarded(buffer.comm,
                 [&] { return ireceive(real, find_side(buffer, source), buffer, lifetime, request, call); });
}

FoundSide find_matched(const Buffer& buffer, const void* message) {
  return find_side(buffer, key_of(load_handle(message)) == key_of(message_no_proc()) ? MPI_PROC_NULL : MPI_ANY_SOURCE);
}

// Receives a matched message, whose communicator is not among the arguments. A refused receive leaves the message.
template <class Receive>
int of_matched(Buffer buffer, const void* message, const Receive& receive) noexcept {
  const Handle matched = load_handle(message);
  const std::optional<Handle> comm = matched_comms().take(matched);
  buffer.comm = comm.value_or(comm_world());
  const int code = guarded(buffer.comm, [&] { return receive(buffer); });
  if (comm && key_of(load_handle(message)) == key_of(matched)) matched_comms().remember(matched, *comm);
  return code;
}

using SmallMrecv = int (*)(void*, int, Handle, void*, MPI_Status*);
using LargeMrecv = int (*)(void*, Count, Handle, void*, MPI_Status*);

int mrecv(SmallMrecv small, LargeMrecv large, const Buffer& buffer, void* message, MPI_Status* status) noexcept {
  const auto call = [&](const Given& given, MPI_Status* seen) {
    return call_receive(small, large, buffer.comm, given, message, seen);
  };
  if (message == nullptr || !send::is_status(status) || belongs_to_library(buffer)) {
    return receive_untouched(buffer, status, call);
  }
  return of_matched(buffer, message, [&](const Buffer& matched) {
    return receive(find_matched(matched, message), matched, status, call);
  });
}

using SmallImrecv = int (*)(void*, int, Handle, void*, void*);
using LargeImrecv = int (*)(void*, Count, Handle, void*, void*);

int imrecv(const Real& real, SmallImrecv small, LargeImrecv large, const Buffer& buffer, void* message,
           void* request) noexcept {
  const auto call = [&](const Given& given, void* made) {
    return call_receive(small, large, buffer.comm, given, message, made);
  };
  if (message == nullptr || request == nullptr || belongs_to_library(buffer)) {
    return call({buffer.address, buffer.count, buffer.datatype}, request);
  }
  return of_matched(buffer, message, [&](const Buffer& matched) {
    return ireceive(real, find_matched(matched, message), matched, Lifetime::plain, request, call);
  });
}

}  // namespace

TEMPI_ENTRY(MPI_Recv, (void* buffer, int count, Handle datatype, int source, int tag, Handle comm, MPI_Status* status),
            passes_messages() ? real.MPI_Recv(buffer, count, datatype, source, tag, comm, status)
                              : recv(real.MPI_Recv, nullptr,
                                     incoming(Function::MPI_Recv, buffer, count, datatype, comm), source, tag, status))
TEMPI_ENTRY(MPI_Recv_c,
            (void* buffer, Count count, Handle datatype, int source, int tag, Handle comm, MPI_Status* status),
            recv(real.MPI_Recv, real.MPI_Recv_c, incoming(Function::MPI_Recv, buffer, count, datatype, comm), source,
                 tag, status))

TEMPI_ENTRY(MPI_Irecv, (void* buffer, int count, Handle datatype, int source, int tag, Handle comm, void* request),
            is_quiet() ? real.MPI_Irecv(buffer, count, datatype, source, tag, comm, request)
                       : irecv(real, real.MPI_Irecv, nullptr, Lifetime::plain,
                               incoming(Function::MPI_Irecv, buffer, count, datatype, comm), source, tag, request))
TEMPI_ENTRY(MPI_Irecv_c, (void* buffer, Count count, Handle datatype, int source, int tag, Handle comm, void* request),
            irecv(real, real.MPI_Irecv, real.MPI_Irecv_c, Lifetime::plain,
                  incoming(Function::MPI_Irecv, buffer, count, datatype, comm), source, tag, request))

TEMPI_ENTRY(MPI_Recv_init, (void* buffer, int count, Handle datatype, int source, int tag, Handle comm, void* request),
            irecv(real, real.MPI_Recv_init, nullptr, Lifetime::programs,
                  incoming(Function::MPI_Recv_init, buffer, count, datatype, comm), source, tag, request))
TEMPI_ENTRY(MPI_Recv_init_c,
            (void* buffer, Count count, Handle datatype, int source, int tag, Handle comm, void* request),
            irecv(real, real.MPI_Recv_init, real.MPI_Recv_init_c, Lifetime::programs,
                  incoming(Function::MPI_Recv_init, buffer, count, datatype, comm), source, tag, request))

TEMPI_ENTRY(MPI_Mrecv, (void* buffer, int count, Handle datatype, void* message, MPI_Status* status),
            mrecv(real.MPI_Mrecv, nullptr, incoming(Function::MPI_Mrecv, buffer, count, datatype, comm_world()),
                  message, status))
TEMPI_ENTRY(MPI_Mrecv_c, (void* buffer, Count count, Handle datatype, void* message, MPI_Status* status),
            mrecv(real.MPI_Mrecv, real.MPI_Mrecv_c,
                  incoming(Function::MPI_Mrecv, buffer, count, datatype, comm_world()), message, status))

TEMPI_ENTRY(MPI_Imrecv, (void* buffer, int count, Handle datatype, void* message, void* request),
            imrecv(real, real.MPI_Imrecv, nullptr,
                   incoming(Function::MPI_Imrecv, buffer, count, datatype, comm_world()), message, request))
TEMPI_ENTRY(MPI_Imrecv_c, (void* buffer, Count count, Handle datatype, void* message, void* request),
            imrecv(real, real.MPI_Imrecv, real.MPI_Imrecv_c,
                   incoming(Function::MPI_Imrecv, buffer, count, datatype, comm_world()), message, request))

}  // namespace tempi::interpose
