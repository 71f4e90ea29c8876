#include "transport/ipc/put.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/recycled.hpp"
#include "pack/chunk_lanes.hpp"
#include "transport/ipc/bounce_buffer.hpp"
#include "transport/ipc/put_target.hpp"

namespace tempi::message {
namespace {

using ipc::Slot;
using pack::Direction;

using PutPtr = std::shared_ptr<Put>;

ReceivingSlot receiving_slot(const SequencedSend& sequenced, const Claim& claim) {
  return {*sequenced.receiver, sequenced.rank, sequenced.is_own, *claim.slot};
}

bool is_on_other_gpu(const Slot& slot, const device::Location& sender, device::Device& device) {
  const auto own = device.share(sender);
  return !own || own->gpu != slot.bounce_buffer.gpu;
}

// Within one GPU kernels reach memory of another process as fast as their own, unless it is mapped in small pages.
bool goes_to_bounce_buffer(const SequencedSend& sequenced, const Slot& slot, const Transfer& transfer) {
  if (sequenced.is_own || slot.bounce_buffer.bytes == 0) return false;
  const auto end = slot.memories.begin() + slot.n_memories;
  if (slot.n_boxes == 0 || std::any_of(slot.memories.begin(), end, is_mapped_in_small_pages)) return true;
  return is_on_other_gpu(slot, transfer.packed_buffer.box_move().laid_out().place.first,
                         transfer.packed_buffer.device());
}

PublishedReceive* own_receive(const SequencedSend& sequenced, const Claim& claim) {
  return sequenced.is_own ? static_cast<PublishedReceive*>(claim.slot->own) : nullptr;
}

PutPtr put_to_bounce_buffer(const SequencedSend& sequenced, const Claim& claim, const Transfer& transfer) {
  const ReceivingSlot to = receiving_slot(sequenced, claim);
  std::optional<PutTarget> target =
      sequenced.is_own ? own_bounce_target_in(to, transfer) : bounce_target_in(to, transfer);
  if (!target) return nullptr;
  claim.slot->is_bounced.store(1, std::memory_order_relaxed);
  return make_recycled<Put>(claim, std::move(target->owner), std::move(target->imported), target->box_move,
                            own_receive(sequenced, claim), claim.slot->buffer, true);
}

// The put to the same buffer as last time; null: it is another one, or out of reach since.
PutPtr take_last(Transfer& transfer, const Claim& claim) {
  PutPtr last = std::move(state_of(transfer).last_put);
  if (!last || last->buffer != claim.slot->buffer || !last->imported.hold()) return nullptr;
  last->claim = claim;
  last->own = static_cast<PublishedReceive*>(claim.slot->own);
  return last;
}

PutPtr put_to_buffer(const SequencedSend& sequenced, const Claim& claim, const Transfer& transfer) {
  std::optional<PutTarget> target = target_in(receiving_slot(sequenced, claim), transfer);
  if (!target) return nullptr;
  return make_recycled<Put>(claim, std::move(target->owner), std::move(target->imported), target->box_move,
                            own_receive(sequenced, claim), claim.slot->buffer);
}

// Null: the kernel cannot write there.
PutPtr put_to(const SequencedSend& sequenced, const Claim& claim, Transfer& transfer) {
  if (PutPtr last = take_last(transfer, claim)) return last;
  const Slot& slot = *claim.slot;
  if (transfer.packed_buffer.bytes() > slot.bytes) return nullptr;  // the library tells of the truncation
  if (goes_to_bounce_buffer(sequenced, slot, transfer)) {
    PutPtr put = put_to_bounce_buffer(sequenced, claim, transfer);
    if (put || slot.n_boxes == 0) return put;  // else the buffer may be in reach
  }
  PutPtr put = put_to_buffer(sequenced, claim, transfer);
  return put || !sequenced.is_own ? put : put_to_bounce_buffer(sequenced, claim, transfer);
}

// After a failure chunks may be under way; the bounce buffer is the receiver's again when the claim has ended.
void settle_chunks(Put& put) noexcept {
  for (; !put.sent.empty(); put.sent.pop_front()) {
    try {
      put.sent.front().mark->wait();
    } catch (...) {  // failed work is not running either
    }
  }
}

void write_by_host(const Put& put, const Transfer& transfer) {
  PublishedReceive& published_receive = *put.own;
  device::Device* const device = &transfer.packed_buffer.device();
  const pack::BoxMove& sent = transfer.packed_buffer.box_move();
  PackedBuffer packed({Direction::pack, transfer.packed_buffer.prepared(), sent.count, sent.laid_out(), Strategy::host},
                      device, device::Limit::none);
  packed.move();
  PackedBuffer arrived({Direction::unpack, published_receive.prepared, published_receive.count, published_receive.end,
                        Strategy::host, 0, true},
                       device, device::Limit::none);
  arrived.take_from(packed.box_move().dense());
  arrived.unpack(packed.bytes());
  put.claim.slot->is_bounced.store(0, std::memory_order_relaxed);
}

void run_again(const Put& put, const Transfer& transfer) {
  const device::Scope here(transfer.packed_buffer.device(), put.box_move.source.place.first.context);
  pack::Batch batch(here);
  batch.add_direct({&put.box_move, &put.owner, true});
  batch.queue().mark->wait();
}

}  // namespace

void count_direct(Outcome outcome, std::int64_t bytes) {
  count_call(Function::direct, outcome, static_cast<std::uint64_t>(bytes));
}

std::shared_ptr<Put> write_to(const SequencedSend& sequenced, const Claim& claim, Transfer& transfer) {
  PutPtr put;
  try {
    put = put_to(sequenced, claim, transfer);
  } catch (...) {
    warn_fallback("a message is packed", caught_error().what());
  }
  if (put) {
    claim.slot->written.store(transfer.packed_buffer.bytes(), std::memory_order_relaxed);
    return put;
  }
  claim.end(false);
  count_direct(Outcome::declined, transfer.packed_buffer.bytes());
  return nullptr;
}

bool goes_in_chunks(const Put& put) {
  return put.bounces && put.own == nullptr && put.box_move.bytes() >= kLeastChunkedBytes;
}

pack::Queued queue_chunks(Put& put, const PackedBuffer& packed_buffer) {
  const pack::BoxMove& box_move = put.box_move;
  packed_buffer.hold_back();
  pack::ChunkLanes lanes(packed_buffer.device(), box_move.source.place.first.context);
  try {
    for (const pack::Chunk& chunk : pack::chunks_of(box_move, BounceChunkBytes(box_move.bytes()))) {
      put.sent.push_back({lanes.queue(chunk), chunk.end});
      tell_arrived(put, false);
    }
    return {lanes.join()};
  } catch (...) {
    lanes.wait();
    throw;
  }
}

void tell_arrived(Put& put, bool waits) {
  for (; !put.sent.empty(); put.sent.pop_front()) {
    const Sent& next = put.sent.front();
    if (!waits && !next.mark->reached()) return;
    next.mark->wait();
    put.claim.slot->bounced.store(next.end, std::memory_order_release);
  }
}

void conclude(Put& put, bool is_written) noexcept {
  settle_chunks(put);
  put.claim.end(is_written);
  const Outcome how = put.bounces ? Outcome::bounced : Outcome::sent_direct;
  count_direct(is_written ? how : Outcome::fell_back, put.box_move.bytes());
}

void write_again(Put& put, const Transfer& transfer) try {
  transfer.packed_buffer.await_earlier();
  put.own != nullptr ? write_by_host(put, transfer) : run_again(put, transfer);
  put.claim.end(true);
  count_direct(Outcome::fell_back, put.box_move.bytes());
} catch (...) {
  put.claim.lose();
  count_direct(Outcome::failed, put.box_move.bytes());
  throw;
}

}  // namespace tempi::message
