// MPI-4.1, 3.2 and 3.4: blocking sends.
#include "interpose/entry.hpp"
#include "interpose/message_call.hpp"
#include "interpose/quiet.hpp"
#include "send/engine.hpp"

namespace tempi::interpose {
namespace {

using SmallSend = int (*)(const void*, int, Handle, int, int, Handle);
using LargeSend = int (*)(const void*, Count, Handle, int, int, Handle);

int send_untouched(SmallSend small, LargeSend large, const Buffer& buffer, int destination, int tag) {
  const auto call = [&](auto fn, auto count) {
    return fn(buffer.address, count, buffer.datatype, destination, tag, buffer.comm);
  };
  return call_form(
      large, buffer.comm, {buffer.count}, [&] { return call(large, buffer.count); },
      [&] { return call(small, static_cast<int>(buffer.count)); });
}

int send(SmallSend small, LargeSend large, const Buffer& buffer, int destination, int tag) noexcept {
  send::Engine::flush();
  if (belongs_to_library(buffer)) return send::Engine::tended(send_untouched(small, large, buffer, destination, tag));
  return guarded_and_tended(buffer.comm, [&] {
    const FoundSide found = find_side(buffer, destination);
    if (found.refusal) return *found.refusal;
    if (!found.side) return send_untouched(small, large, buffer, destination, tag);
    send::Payload payload(*found.side, device::current(), device::Limit::none);
    payload.move();
    const Packed packed(payload.bytes());
    return small(payload.data(), packed.count(), packed.type(), destination, tag, buffer.comm);
  });
}

}  // namespace

// Both forms of one kind of send.
#define TEMPI_SEND(name)                                                                                             \
  TEMPI_ENTRY(name, (const void* buffer, int count, Handle datatype, int destination, int tag, Handle comm),         \
              passes_messages()                                                                                      \
                  ? real.name(buffer, count, datatype, destination, tag, comm)                                       \
                  : send(real.name, nullptr, {Function::name, pack::Direction::pack, buffer, count, datatype, comm}, \
                         destination, tag))                                                                          \
  TEMPI_ENTRY(name##_c, (const void* buffer, Count count, Handle datatype, int destination, int tag, Handle comm),   \
              send(real.name, real.name##_c, {Function::name, pack::Direction::pack, buffer, count, datatype, comm}, \
                   destination, tag))

TEMPI_SEND(MPI_Send)
TEMPI_SEND(MPI_Bsend)
TEMPI_SEND(MPI_Ssend)
TEMPI_SEND(MPI_Rsend)

}  // namespace tempi::interpose
