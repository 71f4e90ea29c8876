#include "request/start.hpp"

#include <vector>

#include "mpi/errors.hpp"
#include "request/deferred.hpp"
#include "request/grouped_packing.hpp"
#include "request/noted.hpp"
#include "request/progress.hpp"
#include "transfer/endpoint.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

// A buffered send is complete when its bytes are in the program's buffer, so that the request itself never starts: Open
// MPI renews the handle of one that is started again while the last bytes are on their way, and 4.1 sends stale bytes.
int start_buffered(Message& message) {
  flush_sends();
  Transfer& transfer = message.outs.first();
  transfer.packed_buffer.move();
  const PackedType packed(transfer.packed_buffer);
  if (notes_messages()) transfer.transport.post_send(message.comm, transfer, false);
  Handle sent = request_null();
  const int code = message.mpi.MPI_Ibsend(transfer.packed_buffer.data(), packed.count(), packed.type(), transfer.peer,
                                          transfer.tag, message.comm, &sent);
  if (!is_made(code, sent)) {
    lose_order(message.comm);
    return code;
  }
  message.state.become(MessageState::buffered);
  message.mpi.MPI_Wait(&sent, MPI_STATUS_IGNORE);
  return code;
}

// True if its packing may share a launch.
bool is_queued_send(Message* message) {
  return message != nullptr && !message->outs.empty() && !message->is_buffered && !message->is_collective();
}

// An error handler of the program has freed it, while the call that starts it runs.
bool is_freed(const Message& message) { return message.is(MessageState::ended); }

// `message`: null where none is managed.
// `is_for_stream`: the program may have started it again, for the next exchange of its stream.
int start_one(const Real& real, Message* message, void* request, device::Location& seen, bool is_for_stream = false) {
  if (message == nullptr) {
    flush_sends();
    device::finish_earlier(device::calls_are_ordered() ? device::current() : nullptr);
    if (request != nullptr) note_start(load_handle(request));
    return real.MPI_Start(request);
  }
  if (message->is_active() || (!is_for_stream && message->is_started_on_stream()) || is_freed(*message))
    return raise(message->comm, MPI_ERR_REQUEST);
  // The library may read arguments of a collective call that are not packed.
  if (message->is_collective()) device::finish_earlier(device::calls_are_ordered() ? device::current() : nullptr);
  const device::OrderedByMarks ordered;
  const auto look_again = [&](Transfer& transfer) {
    if (transfer.packed_buffer.look_again(seen)) transfer.forget_buffer();
    await_deferred(transfer);
    transfer.packed_buffer.come_after_streams();
  };
  message->outs.each(look_again);
  message->ins.each(look_again);
  if (message->is_collective()) return message->hook->start(*message);
  if (message->is_buffered) return start_buffered(*message);
  if (!message->outs.empty()) {
    PendingSends::get().post(*message);
    return MPI_SUCCESS;
  }
  const int code = post_noted(*message, [&] { return real.MPI_Start(request); });
  if (code == MPI_SUCCESS && !is_freed(*message)) message->state.become(MessageState::started);
  return code;
}

}  // namespace

int CompletionHook::start(Message& message) noexcept {
  pack_all_of(message);
  if (message.failure) {
    const Error failure = std::move(*message.failure);
    message.failure.reset();
    return raise(message.comm, failure);
  }
  const int code = message.mpi.MPI_Start(&message.request);
  if (code == MPI_SUCCESS) message.state.become(MessageState::started);
  return code;
}

int CompletionHook::tell(Handle comm, int code) noexcept { return raise(comm, code); }

bool CompletionHook::begins_unpacking(Message&) noexcept { return true; }

int start(const Real& real, void* request) {
  device::Location seen;
  const MessagePtr message = request != nullptr ? ManagedRequests::get().find(load_handle(request)) : nullptr;
  return start_one(real, message.get(), request, seen);
}

int start_for_stream(const Real& real, void* request) {
  device::Location seen;
  const MessagePtr message = ManagedRequests::get().find(load_handle(request));
  return start_one(real, message.get(), request, seen, true);
}

// Order: queued sends last, which MPI-4.1, 3.9, allows. The start of a request of the library finishes all packing
// before it.
int start_all(const Real& real, int count, void* requests) {
  const ManagedRequests::Starting starting;
  std::vector<Message*> messages;
  if (requests != nullptr && ManagedRequests::any()) messages = ManagedRequests::get().find(count, requests);
  if (messages.empty()) {
    flush_sends();
    device::finish_earlier(device::calls_are_ordered() ? device::current() : nullptr);
    for (int i = 0; requests != nullptr && notes_messages() && i < count; ++i)
      note_start(load_handle(static_cast<char*>(requests) + i * kRequestBytes));
    return real.MPI_Startall(count, requests);
  }
  device::Location seen;
  const auto start_at = [&](std::size_t i) {
    return start_one(real, messages[i], static_cast<char*>(requests) + i * kRequestBytes, seen);
  };
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (is_queued_send(messages[i])) continue;
    if (const int code = start_at(i); code != MPI_SUCCESS) return code;
  }
  const PendingSends::SharedLaunch shared_launch;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!is_queued_send(messages[i])) continue;
    if (const int code = start_at(i); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

}  // namespace tempi::message
