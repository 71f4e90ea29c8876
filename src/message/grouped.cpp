#include "message/grouped.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "message/deferred.hpp"
#include "message/writing.hpp"

namespace tempi::message {
namespace {

using device::Context;

// A part, and the message that keeps its failure.
struct Work {
  Message* message;
  Part* part;
  const MessagePtr* received = nullptr;  // of a receive
  Payload& payload() const { return part->payload; }
};
using Works = std::vector<Work>;

Works sends_of(const std::vector<Message*>& messages) {
  Works works;
  works.reserve(messages.size());
  for (Message* const message : messages) {
    message->outs.each([&](Part& part) { works.push_back({message, &part}); });
  }
  return works;
}

// The offer of a direct message is not written then: its bytes come packed.
void move_now(const Work& work) noexcept {
  const auto direct = std::exchange(work.part->direct, nullptr);  // kept: kernels that failed may use its memory
  if (direct) conclude(*direct, false);
  try {
    work.payload().move();
  } catch (...) {
    work.message->failure.emplace(caught_error());
  }
}

// Its marker is sent: its bytes cannot come packed.
void write_now(const Work& work) noexcept {
  const auto direct = std::exchange(work.part->direct, nullptr);
  try {
    write_again(*direct, *work.part);
  } catch (...) {
    work.message->failure.emplace(caught_error());
  }
}

void queue_batch(const Works& works) {
  const trace::Span span("queue batch", {.messages = static_cast<std::int64_t>(works.size())});
  for (const Work& work : works) work.payload().hold_back();
  const Payload& first = works.front().payload();
  const device::Scope here(first.device(), first.context());
  pack::Batch batch(here);
  for (const Work& work : works) {
    if (const auto& direct = work.part->direct)
      batch.add_direct({&direct->transfer, &direct->owner, direct->own == nullptr});
    else work.payload().join(batch);
  }
  const auto queued = std::make_shared<const pack::Queued>(batch.queue());
  for (const Work& work : works) work.part->queued = queued;
}

// A landing that has begun to be unpacked.
Landing* begun_landing(const Part& part) {
  Landing* const landing = part.offer ? part.offer->landing.get() : nullptr;
  return landing != nullptr && landing->has_begun() ? landing : nullptr;
}

// False: it is for a batch.
bool is_queued_alone(const Work& work) {
  Part& part = *work.part;
  const auto keep = [&](pack::Queued&& queued) { part.queued = std::make_shared<const pack::Queued>(queued); };
  if (Landing* const landing = begun_landing(part)) keep(landing->queue_rest());
  else if (part.direct && goes_in_chunks(*part.direct)) keep(queue_chunks(*part.direct, part.payload));
  else if (!part.direct && part.payload.is_empty()) part.queued = nullptr;
  else if (!part.direct && !part.payload.make_ready()) move_now(work);
  else if (!part.direct && !part.payload.can_join_a_batch()) keep(part.payload.queue());
  else return false;
  return true;
}

void queue_grouped(const Works& works) noexcept {
  std::vector<std::pair<Context, Works>> batches;  // most programs use one GPU
  const auto batch_of = [&](Context context) -> Works& {
    for (auto& [its, batch] : batches) {
      if (its == context) return batch;
    }
    Works fresh;
    fresh.reserve(works.size());
    return batches.emplace_back(context, std::move(fresh)).second;
  };
  for (const Work& work : works) {
    try {
      if (!is_queued_alone(work)) batch_of(work.payload().context()).push_back(work);
    } catch (...) {
      warn_fallback("a nonblocking send waits until its data is packed", caught_error().what());
      move_now(work);
    }
  }
  for (const auto& [context, batch] : batches) {
    try {
      queue_batch(batch);
    } catch (...) {
      warn_fallback("messages are packed one by one, not in one launch", caught_error().what());
      for (const Work& work : batch) move_now(work);
    }
  }
}

bool is_received_beside(const Message& message) { return message.is_collective() && !message.ins.empty(); }

// Complete on return, or in the program's stream.
void move_together(const Works& works) noexcept {
  Works queued;
  for (const Work& work : works) {
    if (work.payload().can_be_queued()) queued.push_back(work);
    else move_now(work);
  }
  queue_grouped(queued);
  for (const Work& work : queued) {
    if (work.received == nullptr || !is_deferred(*work.received, *work.part)) is_moved(*work.message, *work.part, true);
  }
}

}  // namespace

void pack_now(Message& message) noexcept {
  message.outs.each([&](Part& part) { move_now({&message, &part}); });
}

bool is_moved(Message& message, Part& part, bool waits) noexcept {
  if (!part.queued || !part.queued->mark) return true;
  device::Mark& mark = *part.queued->mark;
  try {
    if (part.direct) tell_arrived(*part.direct, waits);
    if (!waits && !mark.reached()) return false;
    if (waits) trace::traced("wait for batch", [&] { mark.wait(); });
  } catch (...) {
    warn_fallback("a message is packed, unpacked or written again", caught_error().what());
    message.is(MessageState::announced) ? write_now({&message, &part}) : move_now({&message, &part});
  }
  part.queued = nullptr;
  return true;
}

bool is_packed(Message& message, bool waits) noexcept {
  return message.outs.all([&](Part& part) { return is_moved(message, part, waits); });
}

void pack_grouped(const std::vector<Message*>& messages) noexcept { queue_grouped(sends_of(messages)); }

void pack_all_of(Message& message) noexcept {
  move_together(sends_of({&message}));
  if (message.is_collective()) message.beside->packed();
}

void unpack_grouped(const std::vector<MessagePtr>& messages) noexcept {
  Works works;
  works.reserve(messages.size());
  for (const MessagePtr& message : messages) {
    if (is_received_beside(*message) && !message->beside->begins_unpacking(*message)) continue;
    if (message->is_collective()) message->beside->arrived();
    message->ins.each([&](Part& part) {
      part.payload.bring_last_byte_back();
      works.push_back({message.get(), &part, &message});
    });
  }
  move_together(works);
  for (const Work& work : works) {
    if (work.message->is_collective()) work.message->beside->unpacked();
  }
  for (const MessagePtr& message : messages) {
    if (is_received_beside(*message)) message->beside->await_unpacked();
  }
}

}  // namespace tempi::message
