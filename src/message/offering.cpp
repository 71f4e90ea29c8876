#include "message/offering.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/recycled.hpp"
#include "message/composition.hpp"
#include "message/landing.hpp"
#include "message/lent.hpp"
#include "message/out_of_reach.hpp"

namespace tempi::message {
namespace {

using mailbox::Mailbox;
using mailbox::Slot;

// The allocations that hold the buffer. False: they cannot all be shared.
bool share_memories(Slot& slot, const Offer& offer, const OfferedLayout& layout, device::Device& device) {
  slot.address = reinterpret_cast<std::uintptr_t>(offer.end.address);
  slot.n_memories = 0;
  const auto holds = [](const device::SharedAllocation& one, std::uint64_t first, std::uint64_t last) {
    return first >= one.begin && last <= one.begin + one.bytes;
  };
  for (const datatype::Span& span : layout.spans) {
    const std::uint64_t first = slot.address + static_cast<std::uint64_t>(span.begin);
    const std::uint64_t last = slot.address + static_cast<std::uint64_t>(span.end);
    const auto is_in = [&](const device::SharedAllocation& one) { return holds(one, first, last); };
    if (std::any_of(slot.memories.begin(), slot.memories.begin() + slot.n_memories, is_in)) continue;
    const device::Location& known = offer.end.place.first;
    const bool is_known = first >= known.begin && first < known.end;
    const device::Location found = is_known ? known : device.locate(reinterpret_cast<const void*>(first));
    const auto memory = device.share(found);
    if (!memory || slot.n_memories == mailbox::kMemories || !is_in(*memory)) return false;
    lend(device, found);
    slot.memories[slot.n_memories++] = *memory;
  }
  return true;
}

// The slot describes the buffer for other processes. False: they cannot write there.
bool describe(Slot& slot, const Offer& offer, const OfferedLayout& layout, device::Device& device) {
  slot.n_boxes = 0;
  if (layout.boxes.empty() || offer.end.place.first.kind != device::MemoryKind::device) return false;
  return share_memories(slot, offer, layout, device) && Mailbox::own().share_boxes(slot, layout.boxes);
}

// A receive that no other process writes into where it belongs. A landing is mapped by the sender: of a small message
// that takes longer than it saves, where it is the memory that cannot be shared, as all its messages come so.
bool may_land_alone(const Payload& payload, const OfferedLayout& layout) {
  constexpr std::int64_t kLeastUnsharedBytes = 64 << 10;
  const bool is_shared = payload.transfer().laid_out().place.first.kind == device::MemoryKind::device;
  return (is_shared && layout.boxes.empty()) || payload.bytes() >= kLeastUnsharedBytes;
}

// False: there is no room for them.
bool shows_boxes_again(Slot& kept, const Part& part) {
  return kept.own != nullptr || Mailbox::own().share_boxes(kept, part.offered->boxes);
}

std::uint64_t next_buffer() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

bool lies_on_one_gpu(const Payload& payload) {
  const pack::Place& place = payload.transfer().laid_out().place;
  return place.first.on_gpu() && !place.is_split();
}

OfferPtr make_offer(const Meetings::Place& place, Part& part) {
  part.payload.await_earlier();  // the sender's kernels know nothing of streams of this process
  if (OfferPtr last = std::exchange(part.last_offer, nullptr); last && shows_boxes_again(last->slot(), part)) {
    last->renew(place);
    return last;
  }
  const Payload& payload = part.payload;
  const std::uint64_t memory = payload.transfer().laid_out().place.first.id;
  const bool may_be_offered = lies_on_one_gpu(payload) && !OutOfReach::own().contains(place.source, memory);
  Slot* const slot = may_be_offered ? Mailbox::own().take_slot() : nullptr;
  if (slot == nullptr) return nullptr;
  auto offer = make_recycled<Offer>(*slot, place);
  const pack::Transfer& transfer = payload.transfer();
  offer->prepared = payload.prepared();
  offer->count = transfer.count;
  offer->end = transfer.laid_out();
  if (!part.offered)
    part.offered = offered_layout({offer->prepared, offer->count, offer->end.extent}, offer->end, payload.device());
  const OfferedLayout& layout = *part.offered;
  if (part.buffer == 0) part.buffer = next_buffer();
  slot->own = place.is_own ? offer.get() : nullptr;
  slot->buffer = part.buffer;
  slot->bytes = offer->bytes();
  slot->layout = layout.number;
  slot->landing = {};
  slot->is_landed.store(0, std::memory_order_relaxed);
  slot->landed.store(0, std::memory_order_relaxed);
  slot->is_out_of_reach.store(0, std::memory_order_relaxed);
  const bool is_described = place.is_own || describe(*slot, *offer, layout, payload.device());
  const bool may_land = is_described ? !place.is_own && suits_landing(payload) : may_land_alone(payload, layout);
  if (may_land) offer->landing = Landing::make(payload, *slot);
  return is_described || offer->landing ? offer : nullptr;
}

}  // namespace tempi::message
