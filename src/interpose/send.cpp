// MPI-4.1, 3.2 and 3.4: blocking sends.
#include "call/call.hpp"
#include "call/passes_alone.hpp"
#include "interpose/entry.hpp"

namespace tempi::interpose {
namespace {

using SmallSend = LibraryFunction<int(const void*, int, Handle, int, int, Handle)>;
using LargeSend = LibraryFunction<int(const void*, Count, Handle, int, int, Handle)>;

// `large` is null where the program called the other form.
int send(const Real& real, SmallSend small, LargeSend large, const Envelope& out) noexcept {
  const Handle comm = out.buffer.comm;
  const auto send_given = [&](const Given& given) {
    return call_given(small, large, comm, given, out.peer, out.tag, comm);
  };
  return run(
      {real, Lifetime::call, &out, nullptr, nullptr}, [&] { return send_given(as_given(out.buffer)); },
      [&](const Given& given, const Given&, void*) { return send_given(given); });
}

}  // namespace

// Both forms of one kind of send.
#define TEMPI_SEND(name)                                                                                           \
  TEMPI_ENTRY(name, (const void* buffer, int count, Handle datatype, int destination, int tag, Handle comm),       \
              passes_alone(datatype, count, destination, comm)                                                     \
                  ? real.name(buffer, count, datatype, destination, tag, comm)                                     \
                  : send(real, real.name, nullptr,                                                                 \
                         {outgoing(Function::name, buffer, count, datatype, comm), destination, tag}))             \
  TEMPI_ENTRY(name##_c, (const void* buffer, Count count, Handle datatype, int destination, int tag, Handle comm), \
              real.name##_c != nullptr && passes_alone(datatype, count, destination, comm)                         \
                  ? real.name##_c(buffer, count, datatype, destination, tag, comm)                                 \
                  : send(real, real.name, real.name##_c,                                                           \
                         {outgoing(Function::name, buffer, count, datatype, comm), destination, tag}))

TEMPI_SEND(MPI_Send)
TEMPI_SEND(MPI_Bsend)
TEMPI_SEND(MPI_Ssend)
TEMPI_SEND(MPI_Rsend)

}  // namespace tempi::interpose
