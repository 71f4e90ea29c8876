#include "request/fin.hpp"

#include <utility>

#include "mpi/real.hpp"
#include "request/grouped_packing.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

// It is not looked at again: it is complete when the receive is, which it matches. False: it is not sent.
bool send_fin(Message& message) noexcept {
  const Transfer& transfer = message.outs.first();
  Handle fin = request_null();
  message.start_code = message.mpi.MPI_Isend(nullptr, 0, type_byte(), transfer.peer, transfer.tag, message.comm, &fin);
  if (is_made(message.start_code, fin)) message.mpi.MPI_Request_free(&fin);
  return message.start_code == MPI_SUCCESS;
}

// The bytes are written, unless the kernel failed.
void end_put(Transfer& transfer) noexcept {
  if (transfer.match.is_put()) transfer.transport.end_put(transfer, PutEnd::written);
  transfer.match = {};
}

// The kernel of an early-FIN message has finished.
void conclude(Message& message) noexcept {
  Transfer& transfer = message.outs.first();
  end_put(transfer);
  transfer.was_direct = !message.failure;
  message.state.become(transfer.was_direct ? MessageState::delivered : MessageState::failed);
}

}  // namespace

bool deliver(Message& message) noexcept {
  Transfer& transfer = message.outs.first();
  end_put(transfer);
  transfer.was_direct = send_fin(message);
  if (!transfer.was_direct) transfer.transport.take_back(transfer);
  return transfer.was_direct;
}

bool EarlyFins::send(const MessagePtr& message) noexcept {
  if (send_fin(*message)) {
    message->state.become(MessageState::fin_sent);
    sent_.push_back(message);
    return true;
  }
  is_packed(*message, true);
  Transfer& transfer = message->outs.first();
  if (std::exchange(transfer.match, {}).is_put()) transfer.transport.end_put(transfer, PutEnd::dropped);
  return false;
}

void EarlyFins::end(bool waits) noexcept {
  while (!sent_.empty() && is_packed(*sent_.front(), waits)) {
    conclude(*sent_.front());
    sent_.pop_front();
  }
}

void EarlyFins::end_to_others() noexcept {
  std::erase_if(sent_, [](const MessagePtr& message) {
    if (!message->outs.first().match.is_remote) return false;
    is_packed(*message, true);
    conclude(*message);
    return true;
  });
}

}  // namespace tempi::message
