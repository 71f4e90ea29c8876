// MPI-4.1, 3.2.4, 3.7.2, 3.8 and 3.9: receives.
#include "call/call.hpp"
#include "call/passes_alone.hpp"
#include "interpose/entry.hpp"
#include "request/matched.hpp"

namespace tempi::interpose {
namespace {

using SmallRecv = LibraryFunction<int(void*, int, Handle, int, int, Handle, MPI_Status*)>;
using LargeRecv = LibraryFunction<int(void*, Count, Handle, int, int, Handle, MPI_Status*)>;

int recv(const Real& real, SmallRecv small, LargeRecv large, const Envelope& in, MPI_Status* status) noexcept {
  const Handle comm = in.buffer.comm;
  const auto receive = [&](const Given& given, void* seen) {
    return call_given(small, large, comm, given, in.peer, in.tag, comm, static_cast<MPI_Status*>(seen));
  };
  return run(
      {real, Lifetime::call, nullptr, &in, status}, [&] { return receive(as_given(in.buffer), status); },
      [&](const Given&, const Given& given, void* seen) { return receive(given, seen); });
}

using SmallIrecv = LibraryFunction<int(void*, int, Handle, int, int, Handle, void*)>;
using LargeIrecv = LibraryFunction<int(void*, Count, Handle, int, int, Handle, void*)>;

int irecv(const Real& real, SmallIrecv small, LargeIrecv large, Lifetime lifetime, const Envelope& in,
          void* request) noexcept {
  const Handle comm = in.buffer.comm;
  const auto receive = [&](const Given& given, void* made) {
    return call_given(small, large, comm, given, in.peer, in.tag, comm, made);
  };
  return run(
      {real, lifetime, nullptr, &in, request}, [&] { return receive(as_given(in.buffer), request); },
      [&](const Given&, const Given& given, void* made) { return receive(given, made); });
}

// A matched message, whose communicator is not among the arguments. A refused receive leaves the message.
template <class Receive>
int run_matched(const Real& real, Lifetime lifetime, const Buffer& buffer, void* message, void* result,
                const Receive& receive) noexcept {
  Envelope in{buffer, MPI_ANY_SOURCE, MPI_ANY_TAG, true};
  const Call call{real, lifetime, nullptr, &in, result};
  const auto untouched = [&] { return receive(as_given(buffer), result); };
  if (message == nullptr || belongs_to_library(call)) {
    const int code = pass_on(call, untouched);
    if (code == MPI_SUCCESS && !call.blocks()) note_request(nullptr, &in, {}, false, result);
    return code;
  }
  const Handle matched = load_handle(message);
  const std::optional<Handle> comm = matched_comms().take(matched);
  in.buffer.comm = comm.value_or(comm_world());
  if (key_of(matched) == key_of(message_no_proc())) in.peer = MPI_PROC_NULL;
  const int code =
      run_closely(call, untouched, [&](const Given&, const Given& given, void* at) { return receive(given, at); });
  if (comm && key_of(load_handle(message)) == key_of(matched)) matched_comms().remember(matched, *comm);
  return code;
}

using SmallMrecv = LibraryFunction<int(void*, int, Handle, void*, MPI_Status*)>;
using LargeMrecv = LibraryFunction<int(void*, Count, Handle, void*, MPI_Status*)>;

int mrecv(const Real& real, SmallMrecv small, LargeMrecv large, const Buffer& buffer, void* message,
          MPI_Status* status) noexcept {
  return run_matched(real, Lifetime::call, buffer, message, status, [&](const Given& given, void* seen) {
    return call_given(small, large, buffer.comm, given, message, static_cast<MPI_Status*>(seen));
  });
}

using SmallImrecv = LibraryFunction<int(void*, int, Handle, void*, void*)>;
using LargeImrecv = LibraryFunction<int(void*, Count, Handle, void*, void*)>;

int imrecv(const Real& real, SmallImrecv small, LargeImrecv large, const Buffer& buffer, void* message,
           void* request) noexcept {
  return run_matched(real, Lifetime::plain, buffer, message, request, [&](const Given& given, void* made) {
    return call_given(small, large, buffer.comm, given, message, made);
  });
}

}  // namespace

TEMPI_ENTRY(MPI_Recv, (void* buffer, int count, Handle datatype, int source, int tag, Handle comm, MPI_Status* status),
            passes_alone(datatype, count, source, comm)
                ? real.MPI_Recv(buffer, count, datatype, source, tag, comm, status)
                : recv(real, real.MPI_Recv, nullptr,
                       {incoming(Function::MPI_Recv, buffer, count, datatype, comm), source, tag}, status))
TEMPI_ENTRY(MPI_Recv_c,
            (void* buffer, Count count, Handle datatype, int source, int tag, Handle comm, MPI_Status* status),
            real.MPI_Recv_c != nullptr && passes_alone(datatype, count, source, comm)
                ? real.MPI_Recv_c(buffer, count, datatype, source, tag, comm, status)
                : recv(real, real.MPI_Recv, real.MPI_Recv_c,
                       {incoming(Function::MPI_Recv, buffer, count, datatype, comm), source, tag}, status))

TEMPI_ENTRY(MPI_Irecv, (void* buffer, int count, Handle datatype, int source, int tag, Handle comm, void* request),
            passes(datatype, count, source, comm)
                ? real.MPI_Irecv(buffer, count, datatype, source, tag, comm, request)
                : irecv(real, real.MPI_Irecv, nullptr, Lifetime::plain,
                        {incoming(Function::MPI_Irecv, buffer, count, datatype, comm), source, tag}, request))
TEMPI_ENTRY(MPI_Irecv_c, (void* buffer, Count count, Handle datatype, int source, int tag, Handle comm, void* request),
            real.MPI_Irecv_c != nullptr && passes(datatype, count, source, comm)
                ? real.MPI_Irecv_c(buffer, count, datatype, source, tag, comm, request)
                : irecv(real, real.MPI_Irecv, real.MPI_Irecv_c, Lifetime::plain,
                        {incoming(Function::MPI_Irecv, buffer, count, datatype, comm), source, tag}, request))

TEMPI_ENTRY(MPI_Recv_init, (void* buffer, int count, Handle datatype, int source, int tag, Handle comm, void* request),
            irecv(real, real.MPI_Recv_init, nullptr, Lifetime::programs,
                  {incoming(Function::MPI_Recv_init, buffer, count, datatype, comm), source, tag}, request))
TEMPI_ENTRY(MPI_Recv_init_c,
            (void* buffer, Count count, Handle datatype, int source, int tag, Handle comm, void* request),
            irecv(real, real.MPI_Recv_init, real.MPI_Recv_init_c, Lifetime::programs,
                  {incoming(Function::MPI_Recv_init, buffer, count, datatype, comm), source, tag}, request))

TEMPI_ENTRY(MPI_Mrecv, (void* buffer, int count, Handle datatype, void* message, MPI_Status* status),
            mrecv(real, real.MPI_Mrecv, nullptr, incoming(Function::MPI_Mrecv, buffer, count, datatype, comm_world()),
                  message, status))
TEMPI_ENTRY(MPI_Mrecv_c, (void* buffer, Count count, Handle datatype, void* message, MPI_Status* status),
            mrecv(real, real.MPI_Mrecv, real.MPI_Mrecv_c,
                  incoming(Function::MPI_Mrecv, buffer, count, datatype, comm_world()), message, status))

TEMPI_ENTRY(MPI_Imrecv, (void* buffer, int count, Handle datatype, void* message, void* request),
            imrecv(real, real.MPI_Imrecv, nullptr,
                   incoming(Function::MPI_Imrecv, buffer, count, datatype, comm_world()), message, request))
TEMPI_ENTRY(MPI_Imrecv_c, (void* buffer, Count count, Handle datatype, void* message, void* request),
            imrecv(real, real.MPI_Imrecv, real.MPI_Imrecv_c,
                   incoming(Function::MPI_Imrecv, buffer, count, datatype, comm_world()), message, request))

}  // namespace tempi::interpose
