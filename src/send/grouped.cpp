#include "send/grouped.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/trace.hpp"

namespace tempi::send {
namespace {

using device::Context;
using PayloadOf = Payload* (*)(Message&);

// Whatever fails becomes the message's failure.
template <class Fn>
void guarded(Message& message, const Fn& fn) noexcept {
  try {
    fn();
  } catch (const Error& error) {
    message.failure.emplace(error);
  } catch (const std::exception& error) {
    message.failure.emplace(ErrorKind::no_memory, error.what());
  }
}

void move_now(Message& message, PayloadOf payload_of) noexcept {
  guarded(message, [&] { payload_of(message)->move(); });
}

void queue_batch(const std::vector<Message*>& messages, PayloadOf payload_of) {
  const trace::Span span("queue batch", {.messages = static_cast<std::int64_t>(messages.size())});
  const Payload& first = *payload_of(*messages.front());
  device::Device& device = first.device();
  const device::Scope scope(device, first.context());
  pack::Batch batch(device, first.context());
  for (Message* message : messages) payload_of(*message)->join(batch);
  const pack::Queued queued = batch.queue();
  for (Message* message : messages) message->queued = queued;
}

void queue_grouped(const std::vector<MessagePtr>& messages, PayloadOf payload_of) noexcept {
  std::map<Context, std::vector<Message*>> batches;
  for (const MessagePtr& message : messages) {
    Payload& payload = *payload_of(*message);
    guarded(*message, [&] {
      if (payload.can_join_a_batch()) batches[payload.context()].push_back(message.get());
      else message->queued = payload.queue();
    });
    if (std::exchange(message->failure, {})) move_now(*message, payload_of);
  }
  for (const auto& [context, batch] : batches) {
    try {
      queue_batch(batch, payload_of);
    } catch (const std::exception&) {
      for (Message* message : batch) move_now(*message, payload_of);
    }
  }
}

Payload* outgoing(Message& message) { return &*message.out; }
Payload* incoming(Message& message) { return &*message.in; }

}  // namespace

void pack_now(Message& message) noexcept { move_now(message, outgoing); }

void pack_grouped(const std::vector<MessagePtr>& messages) noexcept { queue_grouped(messages, outgoing); }

void unpack_grouped(const std::vector<MessagePtr>& messages) noexcept {
  std::vector<MessagePtr> queued;
  for (const MessagePtr& message : messages) {
    message->in->bring_last_byte_back();
    if (message->in->can_be_queued()) queued.push_back(message);
    else move_now(*message, incoming);
  }
  queue_grouped(queued, incoming);
  for (const MessagePtr& message : queued) {
    const device::MarkPtr mark = std::exchange(message->queued, {}).mark;
    try {
      if (mark) trace::traced("wait for batch", [&] { mark->wait(); });
    } catch (const Error&) {
      move_now(*message, incoming);
    }
  }
}

}  // namespace tempi::send
