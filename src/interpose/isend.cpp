// MPI-4.1, 3.7.2 and 3.9: nonblocking and persistent sends.
#include "call/call.hpp"
#include "call/passes_alone.hpp"
#include "interpose/entry.hpp"

namespace tempi::interpose {
namespace {

using SmallSend = LibraryFunction<int(const void*, int, Handle, int, int, Handle, void*)>;
using LargeSend = LibraryFunction<int(const void*, Count, Handle, int, int, Handle, void*)>;

struct Forms {
  SmallSend small;
  LargeSend large;  // null: the program called the other form
  SmallSend make;   // makes the request of a managed send, over its packed buffer
};

enum class Bytes : bool { of_program, buffered };

int isend(const Real& real, const Forms& forms, Lifetime lifetime, Bytes bytes, const Envelope& out,
          void* request) noexcept {
  const Handle comm = out.buffer.comm;
  return run(
      {real, lifetime, &out, nullptr, request, bytes == Bytes::buffered},
      [&] {
        return call_given(forms.small, forms.large, comm, as_given(out.buffer), out.peer, out.tag, comm, request);
      },
      [&](const Given& given, const Given&, void* made) {
        return forms.make(given.address, static_cast<int>(given.count), given.type, out.peer, out.tag, comm, made);
      });
}

}  // namespace

// Both forms of one kind of send: its name, the function that makes its managed requests, and their kind.
#define TEMPI_ISEND(name, make, lifetime, bytes)                                                                      \
  TEMPI_ENTRY(name,                                                                                                   \
              (const void* buffer, int count, Handle datatype, int destination, int tag, Handle comm, void* request), \
              passes_alone(datatype, count, destination, comm)                                                        \
                  ? real.name(buffer, count, datatype, destination, tag, comm, request)                               \
                  : isend(real, {real.name, nullptr, real.make}, lifetime, bytes,                                     \
                          {outgoing(Function::name, buffer, count, datatype, comm), destination, tag}, request))      \
  TEMPI_ENTRY(                                                                                                        \
      name##_c,                                                                                                       \
      (const void* buffer, Count count, Handle datatype, int destination, int tag, Handle comm, void* request),       \
      real.name##_c != nullptr && passes_alone(datatype, count, destination, comm)                                    \
          ? real.name##_c(buffer, count, datatype, destination, tag, comm, request)                                   \
          : isend(real, {real.name, real.name##_c, real.make}, lifetime, bytes,                                       \
                  {outgoing(Function::name, buffer, count, datatype, comm), destination, tag}, request))

TEMPI_ISEND(MPI_Isend, MPI_Send_init, Lifetime::ours, Bytes::of_program)
TEMPI_ISEND(MPI_Ibsend, MPI_Ibsend, Lifetime::plain, Bytes::buffered)
TEMPI_ISEND(MPI_Issend, MPI_Ssend_init, Lifetime::ours, Bytes::of_program)
TEMPI_ISEND(MPI_Irsend, MPI_Rsend_init, Lifetime::ours, Bytes::of_program)
TEMPI_ISEND(MPI_Send_init, MPI_Send_init, Lifetime::programs, Bytes::of_program)
TEMPI_ISEND(MPI_Bsend_init, MPI_Bsend_init, Lifetime::programs, Bytes::buffered)
TEMPI_ISEND(MPI_Ssend_init, MPI_Ssend_init, Lifetime::programs, Bytes::of_program)
TEMPI_ISEND(MPI_Rsend_init, MPI_Rsend_init, Lifetime::programs, Bytes::of_program)

}  // namespace tempi::interpose
