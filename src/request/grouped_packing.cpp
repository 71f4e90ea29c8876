#include "request/grouped_packing.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "request/deferred.hpp"
#include "transport/transports.hpp"

namespace tempi::message {
namespace {

using device::Context;

// A transfer, and the message that keeps its failure.
struct Work {
  Message* message;
  Transfer* transfer;
  const MessagePtr* received = nullptr;  // of a receive
  PackedBuffer& packed_buffer() const { return transfer->packed_buffer; }
};
using Works = std::vector<Work>;

Works sends_of(const std::vector<Message*>& messages) {
  Works works;
  works.reserve(messages.size());
  for (Message* const message : messages) {
    message->outs.each([&](Transfer& transfer) { works.push_back({message, &transfer}); });
  }
  return works;
}

// The published receive of a direct message is not written then: its bytes come packed.
void move_now(const Work& work) noexcept {
  std::shared_ptr<const void> in_use;  // kernels that failed may use its memory
  if (std::exchange(work.transfer->match, {}).is_put())
    in_use = work.transfer->transport.end_put(*work.transfer, PutEnd::packed);
  try {
    work.packed_buffer().move();
  } catch (...) {
    work.message->failure.emplace(caught_error());
  }
}

// Its FIN message is sent: its bytes cannot come packed.
void write_now(const Work& work) noexcept {
  work.transfer->match = {};
  try {
    work.transfer->transport.retry_put(*work.transfer);
  } catch (...) {
    work.message->failure.emplace(caught_error());
  }
}

void queue_batch(const Works& works) {
  const trace::Span span("queue batch", {.messages = static_cast<std::int64_t>(works.size())});
  for (const Work& work : works) work.packed_buffer().hold_back();
  const PackedBuffer& first = works.front().packed_buffer();
  const device::Scope here(first.device(), first.context());
  pack::Batch batch(here);
  for (const Work& work : works) {
    if (work.transfer->match.is_put()) batch.add_direct(work.transfer->transport.put(*work.transfer));
    else work.packed_buffer().join(batch);
  }
  const auto queued = std::make_shared<const pack::Queued>(batch.queue());
  for (const Work& work : works) work.transfer->queued = queued;
}

// False: it is for a batch.
bool is_queued_alone(const Work& work) {
  Transfer& transfer = *work.transfer;
  const auto keep = [&](pack::Queued&& queued) { transfer.queued = std::make_shared<const pack::Queued>(queued); };
  const bool is_put = transfer.match.is_put();
  auto rest = transfer.state && !is_put ? transfer.transport.queue_rest(transfer) : std::nullopt;
  if (rest) keep(std::move(*rest));
  else if (transfer.match.goes_in_chunks) keep(transfer.transport.queue_chunks(transfer));
  else if (!is_put && transfer.packed_buffer.is_empty()) transfer.queued = nullptr;
  else if (!is_put && !transfer.packed_buffer.make_ready()) move_now(work);
  else if (!is_put && !transfer.packed_buffer.can_join_a_batch()) keep(transfer.packed_buffer.queue());
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
      if (!is_queued_alone(work)) batch_of(work.packed_buffer().context()).push_back(work);
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
    if (work.packed_buffer().can_be_queued()) queued.push_back(work);
    else move_now(work);
  }
  queue_grouped(queued);
  for (const Work& work : queued) {
    if (work.received == nullptr || !is_deferred(*work.received, *work.transfer))
      is_moved(*work.message, *work.transfer, true);
  }
}

}  // namespace

void pack_now(Message& message) noexcept {
  message.outs.each([&](Transfer& transfer) { move_now({&message, &transfer}); });
}

bool is_moved(Message& message, Transfer& transfer, bool waits) noexcept {
  if (!transfer.queued || !transfer.queued->mark) return true;
  device::Mark& mark = *transfer.queued->mark;
  try {
    if (transfer.match.goes_in_chunks) transfer.transport.report_arrived(transfer, waits);
    if (!waits && !mark.reached()) return false;
    if (waits) trace::traced("wait for batch", [&] { mark.wait(); });
  } catch (...) {
    warn_fallback("a message is packed, unpacked or written again", caught_error().what());
    message.is(MessageState::fin_sent) ? write_now({&message, &transfer}) : move_now({&message, &transfer});
  }
  transfer.queued = nullptr;
  return true;
}

bool is_packed(Message& message, bool waits) noexcept {
  return message.outs.all([&](Transfer& transfer) { return is_moved(message, transfer, waits); });
}

void pack_grouped(const std::vector<Message*>& messages) noexcept { queue_grouped(sends_of(messages)); }

void pack_all_of(Message& message) noexcept {
  move_together(sends_of({&message}));
  if (message.is_collective()) message.hook->packed();
}

void unpack_grouped(const std::vector<MessagePtr>& messages) noexcept {
  Works works;
  works.reserve(messages.size());
  for (const MessagePtr& message : messages) {
    if (is_received_beside(*message) && !message->hook->begins_unpacking(*message)) continue;
    if (message->is_collective()) message->hook->arrived();
    message->ins.each([&](Transfer& transfer) {
      transfer.packed_buffer.bring_last_byte_back();
      works.push_back({message.get(), &transfer, &message});
    });
  }
  move_together(works);
  for (const Work& work : works) {
    if (work.message->is_collective()) work.message->hook->unpacked();
  }
  for (const MessagePtr& message : messages) {
    if (is_received_beside(*message)) message->hook->await_unpacked();
  }
}

}  // namespace tempi::message
