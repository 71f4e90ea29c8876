#include "transport/ipc/publishing.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/recycled.hpp"
#include "sharing/composed_layout.hpp"
#include "sharing/exports.hpp"
#include "transport/ipc/bounce_buffer.hpp"
#include "transport/ipc/not_importable.hpp"

namespace tempi::message {
namespace {

using ipc::OwnSegment;
using ipc::Slot;

// The allocations that hold the buffer. False: they cannot all be shared.
bool share_memories(Slot& slot, const PublishedReceive& published_receive, const PublishedLayout& layout,
                    device::Device& device) {
  slot.address = reinterpret_cast<std::uintptr_t>(published_receive.end.address);
  slot.n_memories = 0;
  const auto holds = [](const device::SharedAllocation& one, std::uint64_t first, std::uint64_t last) {
    return first >= one.begin && last <= one.begin + one.bytes;
  };
  for (const datatype::Span& span : layout.spans) {
    const std::uint64_t first = slot.address + static_cast<std::uint64_t>(span.begin);
    const std::uint64_t last = slot.address + static_cast<std::uint64_t>(span.end);
    const auto is_in = [&](const device::SharedAllocation& one) { return holds(one, first, last); };
    if (std::any_of(slot.memories.begin(), slot.memories.begin() + slot.n_memories, is_in)) continue;
    const device::Location& known = published_receive.end.place.first;
    const bool is_known = first >= known.begin && first < known.end;
    const device::Location found = is_known ? known : device.locate(reinterpret_cast<const void*>(first));
    const auto memory = device.share(found);
    if (!memory || slot.n_memories == ipc::kMemories || !is_in(*memory)) return false;
    export_memory(device, found);
    slot.memories[slot.n_memories++] = *memory;
  }
  return true;
}

// The slot describes the buffer for other processes. False: they cannot write there.
bool describe(Slot& slot, const PublishedReceive& published_receive, const PublishedLayout& layout,
              device::Device& device) {
  slot.n_boxes = 0;
  if (layout.boxes.empty() || published_receive.end.place.first.kind != device::MemoryKind::device) return false;
  return share_memories(slot, published_receive, layout, device) && OwnSegment::own().share_boxes(slot, layout.boxes);
}

// A receive that no other process writes into where it belongs. A bounce buffer is mapped by the sender: of a small
// message that takes longer than it saves, where it is the memory that cannot be shared, as all its messages come so.
bool may_only_bounce(const PackedBuffer& packed_buffer, const PublishedLayout& layout) {
  constexpr std::int64_t kLeastUnsharedBytes = 64 << 10;
  const bool is_shared = packed_buffer.box_move().laid_out().place.first.kind == device::MemoryKind::device;
  return (is_shared && layout.boxes.empty()) || packed_buffer.bytes() >= kLeastUnsharedBytes;
}

// False: there is no room for them.
bool shows_boxes_again(Slot& kept, const Transfer& transfer) {
  return kept.own != nullptr || OwnSegment::own().share_boxes(kept, state_of(transfer).layout->boxes);
}

std::uint64_t next_buffer() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

bool lies_on_one_gpu(const PackedBuffer& packed_buffer) {
  const pack::Place& place = packed_buffer.box_move().laid_out().place;
  return place.first.on_gpu() && !place.is_split();
}

PublishedReceivePtr make_published_receive(const Matcher::Place& place, Transfer& transfer) {
  transfer.packed_buffer.await_earlier();  // the sender's kernels know nothing of streams of this process
  if (PublishedReceivePtr last = std::exchange(state_of(transfer).last_published_receive, nullptr);
      last && shows_boxes_again(last->slot(), transfer)) {
    last->renew(place);
    return last;
  }
  const PackedBuffer& packed_buffer = transfer.packed_buffer;
  const std::uint64_t memory = packed_buffer.box_move().laid_out().place.first.id;
  const bool may_be_published = lies_on_one_gpu(packed_buffer) && !NotImportable::own().contains(place.source, memory);
  Slot* const slot = may_be_published ? OwnSegment::own().take_slot() : nullptr;
  if (slot == nullptr) return nullptr;
  auto published_receive = make_recycled<PublishedReceive>(*slot, place);
  const pack::BoxMove& box_move = packed_buffer.box_move();
  published_receive->prepared = packed_buffer.prepared();
  published_receive->count = box_move.count;
  published_receive->end = box_move.laid_out();
  IpcState& state = state_of(transfer);
  if (!state.layout)
    state.layout =
        published_layout({published_receive->prepared, published_receive->count, published_receive->end.extent},
                         published_receive->end, packed_buffer.device());
  const PublishedLayout& layout = *state.layout;
  if (state.buffer == 0) state.buffer = next_buffer();
  slot->own = place.is_own ? published_receive.get() : nullptr;
  slot->buffer = state.buffer;
  slot->bytes = published_receive->bytes();
  slot->layout = layout.number;
  slot->bounce_buffer = {};
  slot->is_bounced.store(0, std::memory_order_relaxed);
  slot->bounced.store(0, std::memory_order_relaxed);
  slot->is_not_importable.store(0, std::memory_order_relaxed);
  const bool is_described = place.is_own || describe(*slot, *published_receive, layout, packed_buffer.device());
  const bool may_bounce =
      is_described ? !place.is_own && suits_bounce_buffer(packed_buffer) : may_only_bounce(packed_buffer, layout);
  if (may_bounce) published_receive->bounce_buffer = BounceBuffer::make(packed_buffer, *slot);
  return is_described || published_receive->bounce_buffer ? published_receive : nullptr;
}

}  // namespace tempi::message
