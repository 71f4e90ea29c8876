// The engine's part of direct messages: their markers, before and after the end of their kernels.
#include "base/call_lock.hpp"
#include "message/engine.hpp"
#include "message/grouped.hpp"
#include "message/writing.hpp"
#include "mpi/real.hpp"

namespace tempi::message {
namespace {

// The marker. It is not looked at again: it is complete when the receive is, which it meets. False: it is not sent.
bool send_marker(Message& message) noexcept {
  const Part& part = message.outs.first();
  Handle marker = request_null();
  message.start_code = message.mpi.MPI_Isend(nullptr, 0, type_byte(), part.peer, part.tag, message.comm, &marker);
  if (is_made(message.start_code, marker)) message.mpi.MPI_Request_free(&marker);
  return message.start_code == MPI_SUCCESS;
}

// The receiver unpacks chunks while they arrive, but not behind the marker.
bool may_be_announced(const Part& part) { return part.direct && !goes_in_chunks(*part.direct); }

// The bytes are written, unless the kernel failed.
void end_direct(Part& part) noexcept {
  if (!part.direct) return;
  conclude(*part.direct, true);
  part.direct->reached.let_go();
  if (!part.direct->lands) part.last_direct = std::move(part.direct);
  part.direct.reset();
}

// The kernel of an announced message has finished.
void conclude_announced(Message& message) noexcept {
  Part& part = message.outs.first();
  end_direct(part);
  part.was_direct = !message.failure;
  message.state.become(part.was_direct ? MessageState::delivered : MessageState::failed);
}

}  // namespace

void Engine::deliver(Message& message) noexcept {
  Part& part = message.outs.first();
  const Claim claim = part.direct->claim;
  end_direct(part);
  part.was_direct = send_marker(message);
  if (!part.was_direct) {
    claim.take_back();
    end_order(message);
  }
  message.state.become(part.was_direct ? MessageState::delivered : MessageState::failed);
}

// Those that are queued behind others wait for these: they may be of the same line.
void Engine::announce_first() noexcept {
  while (!pending_.empty() && may_be_announced(pending_.front()->outs.first())) {
    MessagePtr message = std::move(pending_.front());
    pending_.pop_front();
    announce(std::move(message));
    launch();  // an error handler of the program may have sent more
  }
}

void Engine::announce(MessagePtr message) noexcept {
  if (send_marker(*message)) {
    message->state.become(MessageState::announced);
    announced_.push_back(std::move(message));
    return;
  }
  is_packed(*message, true);
  message->outs.first().direct.reset();  // declined
  end_order(*message);
  message->state.become(MessageState::failed);
}

void Engine::end_announced(bool waits) noexcept {
  const CallLock lock(mutex_);
  while (!announced_.empty() && is_packed(*announced_.front(), waits)) {
    conclude_announced(*announced_.front());
    announced_.pop_front();
  }
  count_work();
}

// Their receivers may be waiting, and the library does not look at our kernels while it waits for them.
void Engine::end_announced_to_others() noexcept {
  std::erase_if(announced_, [](const MessagePtr& message) {
    if (message->outs.first().direct->own != nullptr) return false;
    is_packed(*message, true);
    conclude_announced(*message);
    return true;
  });
}

}  // namespace tempi::message
