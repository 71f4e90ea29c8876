#include "message/writing.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/recycled.hpp"
#include "message/composition.hpp"
#include "message/landing.hpp"
#include "pack/chunk_lanes.hpp"

namespace tempi::message {
namespace {

using mailbox::Slot;
using pack::Direction;

// The allocations of a receiver's buffer as kernels of the sender's context reach them; none: they do not.
struct Reach {
  std::vector<Moved> memories{};
  Mappings kept{};
};
// Null: it is not mapped, which the receiver is told where the driver does not map it at all.
ReachedPtr reach_for(const Turn& turn, Slot& slot, const device::SharedAllocation& memory, device::Context context,
                     device::Device& device) {
  bool is_refused = false;
  ReachedPtr reached = reach(device, context, *turn.receiver, memory, is_refused);
  if (is_refused) slot.is_out_of_reach.store(1, std::memory_order_relaxed);
  return reached;
}

Reach reach_memories(const Turn& turn, Slot& slot, device::Context context, device::Device& device) {
  Reach all;
  for (std::uint32_t i = 0; i < slot.n_memories; ++i) {
    const device::SharedAllocation& memory = slot.memories[i];
    ReachedPtr reached = reach_for(turn, slot, memory, context, device);
    if (!reached) return {};
    all.memories.push_back({memory.begin, memory.begin + memory.bytes, reached->begin()});
    all.kept.add(std::move(reached));
  }
  return all;
}

// A receiver's end in one allocation of another process. Nothing: it would lie beyond.
std::optional<pack::End> end_in(const Moved& memory, const Slot& slot, const Composed& composed,
                                const device::Location& sender) {
  const auto first = static_cast<std::int64_t>(slot.address - memory.begin) + composed.span.begin;
  const auto bytes = static_cast<std::int64_t>(memory.end - memory.begin);
  if (first < 0 || first + composed.span.bytes() > bytes) return {};
  const std::uint64_t address = memory.here + (slot.address - memory.begin);
  const device::Location there{device::MemoryKind::device, sender.ordinal, sender.context, memory.here,
                               memory.here + static_cast<std::uint64_t>(bytes)};
  return pack::End{reinterpret_cast<void*>(address), 0, &composed.far, {there}};
}

using DirectPtr = std::shared_ptr<Direct>;

DirectPtr make_direct(const Claim& claim, ComposedPtr&& composed, const Part& part, const pack::End& to,
                      Mappings reached, Offer* own = nullptr) {
  const pack::End& from = part.payload.transfer().laid_out();
  const pack::Transfer transfer{&*composed->mapping, &composed->launches, 1, part.payload.bytes(), from, to};
  return make_recycled<Direct>(claim, std::move(composed), std::move(reached), transfer, own, claim.slot->buffer);
}

bool is_on_other_gpu(const Slot& slot, const device::Location& sender, device::Device& device) {
  const auto own = device.share(sender);
  return !own || own->gpu != slot.landing.gpu;
}

// Within one GPU kernels reach memory of another process as fast as their own, unless it is mapped in small pages.
bool goes_to_landing(const Turn& turn, const Slot& slot, const Part& part) {
  if (turn.is_own || slot.landing.bytes == 0) return false;
  const auto end = slot.memories.begin() + slot.n_memories;
  if (slot.n_boxes == 0 || std::any_of(slot.memories.begin(), end, is_mapped_in_small_pages)) return true;
  return is_on_other_gpu(slot, part.payload.transfer().laid_out().place.first, part.payload.device());
}

DirectPtr direct_to_landing(const Turn& turn, const Claim& claim, const Part& part) {
  Slot& slot = *claim.slot;
  const pack::Transfer& own = part.payload.transfer();
  const device::Location& sender = own.laid_out().place.first;
  const std::uint64_t first = slot.landing_address - slot.landing.begin;
  if (first > slot.landing.bytes || slot.landing.bytes - first < static_cast<std::uint64_t>(slot.bytes)) return nullptr;
  ReachedPtr reached = reach_for(turn, slot, slot.landing, sender.context, part.payload.device());
  if (!reached) return nullptr;
  slot.is_landed.store(1, std::memory_order_relaxed);
  pack::End to = pack::dense_end(*own.laid_out().layout, reinterpret_cast<void*>(reached->begin() + first));
  to.place = {{device::MemoryKind::device, sender.ordinal, sender.context, reached->begin(),
               reached->begin() + slot.landing.bytes}};
  const pack::PreparedPtr& prepared = part.payload.prepared();
  Mappings mappings;
  mappings.add(std::move(reached));
  return make_recycled<Direct>(claim, prepared, std::move(mappings),
                               pack::transfer_of(pack::Direction::pack, *prepared, own.count, own.laid_out(), to),
                               nullptr, slot.buffer, true);
}

// The transfer to the same buffer as last time; null: it is another one, or out of reach since.
DirectPtr take_last(Part& part, const Claim& claim) {
  DirectPtr last = std::move(part.last_direct);
  if (!last || last->buffer != claim.slot->buffer || !last->reached.hold()) return nullptr;
  last->claim = claim;
  last->own = static_cast<Offer*>(claim.slot->own);
  return last;
}

DirectPtr direct_to_oneself(const Claim& claim, const LayoutName& name, const BufferLayout& sent, const Part& part) {
  Offer& offer = *static_cast<Offer*>(claim.slot->own);
  const device::Location& sender = part.payload.transfer().laid_out().place.first;
  if (offer.end.place.first.context != sender.context) return nullptr;
  const auto boxes = [&] { return BufferLayout{offer.prepared, offer.count, offer.end.extent}.boxes(); };
  ComposedPtr composed = composition(sent, name, {}, boxes);
  return composed->mapping ? make_direct(claim, std::move(composed), part, offer.end, {}, &offer) : nullptr;
}

DirectPtr direct_to_other(const Turn& turn, const Claim& claim, const LayoutName& name, const BufferLayout& sent,
                          const Part& part) {
  Slot& slot = *claim.slot;
  const pack::Place& sender = part.payload.transfer().laid_out().place;
  Reach there = reach_memories(turn, slot, sender.first.context, part.payload.device());
  if (there.memories.empty()) return nullptr;
  const bool is_one = there.memories.size() == 1;
  const Moved first = there.memories.front();
  const MovedBuffer place = is_one ? MovedBuffer{} : MovedBuffer{slot.address, std::move(there.memories)};
  ComposedPtr composed = composition(sent, name, place, [&] { return boxes_of(*turn.receiver, slot); });
  if (!composed->mapping) return nullptr;
  const std::optional<pack::End> to =
      is_one ? end_in(first, slot, *composed, sender.first) : pack::End{nullptr, 0, &composed->far, sender};
  return to ? make_direct(claim, std::move(composed), part, *to, std::move(there.kept)) : nullptr;
}

// Null: the kernel cannot write there.
DirectPtr direct_to(const Turn& turn, const Claim& claim, Part& part) {
  if (DirectPtr last = take_last(part, claim)) return last;
  const Slot& slot = *claim.slot;
  if (part.payload.bytes() > slot.bytes) return nullptr;  // the library tells of the truncation
  const pack::Transfer& transfer = part.payload.transfer();
  const BufferLayout sent{part.payload.prepared(), transfer.count, transfer.laid_out().extent};
  if (goes_to_landing(turn, slot, part)) {
    DirectPtr direct = direct_to_landing(turn, claim, part);
    if (direct || slot.n_boxes == 0) return direct;  // else the buffer may be in reach
  }
  const LayoutName name{turn.rank, slot.layout};
  return turn.is_own ? direct_to_oneself(claim, name, sent, part) : direct_to_other(turn, claim, name, sent, part);
}

// After a failure chunks may be under way; the landing is the receiver's again when the claim has ended.
void settle_chunks(Direct& direct) noexcept {
  for (; !direct.sent.empty(); direct.sent.pop_front()) {
    try {
      direct.sent.front().mark->wait();
    } catch (...) {  // failed work is not running either
    }
  }
}

void write_by_host(const Direct& direct, const Part& part) {
  Offer& offer = *direct.own;
  device::Device* const device = &part.payload.device();
  const pack::Transfer& sent = part.payload.transfer();
  Payload packed({Direction::pack, part.payload.prepared(), sent.count, sent.laid_out(), Strategy::host}, device,
                 device::Limit::none);
  packed.move();
  Payload arrived({Direction::unpack, offer.prepared, offer.count, offer.end, Strategy::host, 0, true}, device,
                  device::Limit::none);
  arrived.take_from(packed.transfer().dense());
  arrived.unpack(packed.bytes());
}

void run_again(const Direct& direct, const Part& part) {
  const device::Scope here(part.payload.device(), direct.transfer.source.place.first.context);
  pack::Batch batch(here);
  batch.add_direct({&direct.transfer, &direct.owner, true});
  batch.queue().mark->wait();
}

}  // namespace

void count_direct(Outcome outcome, std::int64_t bytes) {
  count_call(Function::direct, outcome, static_cast<std::uint64_t>(bytes));
}

std::shared_ptr<Direct> write_to(const Turn& turn, const Claim& claim, Part& part) {
  DirectPtr direct;
  try {
    direct = direct_to(turn, claim, part);
  } catch (...) {
    warn_fallback("a message is packed", caught_error().what());
  }
  if (direct) {
    claim.slot->written.store(part.payload.bytes(), std::memory_order_relaxed);
    return direct;
  }
  claim.end(false);
  count_direct(Outcome::declined, part.payload.bytes());
  return nullptr;
}

bool goes_in_chunks(const Direct& direct) { return direct.lands && direct.transfer.bytes() >= kLeastChunkedBytes; }

pack::Queued queue_chunks(Direct& direct, const Payload& payload) {
  const pack::Transfer& transfer = direct.transfer;
  payload.hold_back();
  pack::ChunkLanes lanes(payload.device(), transfer.source.place.first.context);
  try {
    for (const pack::Chunk& chunk : pack::chunks_of(transfer, LandedChunkBytes(transfer.bytes()))) {
      direct.sent.push_back({lanes.queue(chunk), chunk.end});
      tell_arrived(direct, false);
    }
    return {lanes.join()};
  } catch (...) {
    lanes.wait();
    throw;
  }
}

void tell_arrived(Direct& direct, bool waits) {
  for (; !direct.sent.empty(); direct.sent.pop_front()) {
    const Sent& next = direct.sent.front();
    if (!waits && !next.mark->reached()) return;
    next.mark->wait();
    direct.claim.slot->landed.store(next.end, std::memory_order_release);
  }
}

void conclude(Direct& direct, bool is_written) noexcept {
  settle_chunks(direct);
  direct.claim.end(is_written);
  const Outcome how = direct.lands ? Outcome::bounced : Outcome::sent_direct;
  count_direct(is_written ? how : Outcome::fell_back, direct.transfer.bytes());
}

void write_again(Direct& direct, const Part& part) try {
  part.payload.await_earlier();
  direct.own != nullptr ? write_by_host(direct, part) : run_again(direct, part);
  direct.claim.end(true);
  count_direct(Outcome::fell_back, direct.transfer.bytes());
} catch (...) {
  direct.claim.lose();
  count_direct(Outcome::failed, direct.transfer.bytes());
  throw;
}

}  // namespace tempi::message
