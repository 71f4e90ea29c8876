// The engine's part of direct messages: their FIN messages, before and after the end of their kernels.
#include "base/call_lock.hpp"
#include "mpi/real.hpp"
#include "request/engine.hpp"
#include "request/grouped_packing.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

// The FIN message. It is not looked at again: it is complete when the receive is, which it matches. False: it is not
// sent.
bool send_fin(Message& message) noexcept {
  const Transfer& transfer = message.outs.first();
  Handle fin = request_null();
  message.start_code = message.mpi.MPI_Isend(nullptr, 0, type_byte(), transfer.peer, transfer.tag, message.comm, &fin);
  if (is_made(message.start_code, fin)) message.mpi.MPI_Request_free(&fin);
  return message.start_code == MPI_SUCCESS;
}

// The receiver unpacks chunks while they arrive, but not behind the FIN message.
bool may_send_fin_early(const Transfer& transfer) { return transfer.match.is_put() && !transfer.match.goes_in_chunks; }

// The bytes are written, unless the kernel failed.
void end_put(Transfer& transfer) noexcept {
  if (transfer.match.is_put()) transfer.transport.end_put(transfer, PutEnd::written);
  transfer.match = {};
}

// The kernel of an early-FIN message has finished.
void conclude_early_fin(Message& message) noexcept {
  Transfer& transfer = message.outs.first();
  end_put(transfer);
  transfer.was_direct = !message.failure;
  message.state.become(transfer.was_direct ? MessageState::delivered : MessageState::failed);
}

}  // namespace

void Engine::deliver(Message& message) noexcept {
  Transfer& transfer = message.outs.first();
  end_put(transfer);
  transfer.was_direct = send_fin(message);
  if (!transfer.was_direct) {
    transfer.transport.take_back(transfer);
    end_order(message);
  }
  message.state.become(transfer.was_direct ? MessageState::delivered : MessageState::failed);
}

// Those that are queued behind others wait for these: they may be of the same match queue.
void Engine::send_first_early_fins() noexcept {
  while (!pending_.empty() && may_send_fin_early(pending_.front()->outs.first())) {
    MessagePtr message = std::move(pending_.front());
    pending_.pop_front();
    send_early_fin(std::move(message));
    launch();  // an error handler of the program may have sent more
  }
}

void Engine::send_early_fin(MessagePtr message) noexcept {
  if (send_fin(*message)) {
    message->state.become(MessageState::fin_sent);
    early_fins_.push_back(std::move(message));
    return;
  }
  is_packed(*message, true);
  Transfer& transfer = message->outs.first();
  if (std::exchange(transfer.match, {}).is_put()) transfer.transport.end_put(transfer, PutEnd::dropped);
  end_order(*message);
  message->state.become(MessageState::failed);
}

void Engine::end_early_fins(bool waits) noexcept {
  const CallLock lock(mutex_);
  while (!early_fins_.empty() && is_packed(*early_fins_.front(), waits)) {
    conclude_early_fin(*early_fins_.front());
    early_fins_.pop_front();
  }
  count_work();
}

// Their receivers may be waiting, and the library does not look at our kernels while it waits for them.
void Engine::end_early_fins_to_others() noexcept {
  std::erase_if(early_fins_, [](const MessagePtr& message) {
    if (!message->outs.first().match.is_remote) return false;
    is_packed(*message, true);
    conclude_early_fin(*message);
    return true;
  });
}

}  // namespace tempi::message
