#include "transport/ipc/put_target.hpp"

#include <utility>
#include <vector>

#include "sharing/composed_layout.hpp"
#include "transport/ipc/published_receives.hpp"
#include "transport/ipc/state.hpp"

namespace tempi::message {
namespace {

using ipc::Slot;

// The allocations of a receiver's buffer as kernels of the sender's context reach them; none: they do not.
struct ImportedMemories {
  std::vector<Moved> memories{};
  Mappings kept{};
};

// Null: the memory is not mapped, which the receiver is told where the driver does not map it at all (`is_refused`).
ImportPtr import_for(const ReceivingSlot& to, const device::SharedAllocation& memory, device::Context context,
                     device::Device& device, bool& is_refused) {
  ImportPtr imported = import_memory(device, context, to.segment, memory, is_refused);
  if (is_refused) to.slot.is_not_importable.store(1, std::memory_order_relaxed);
  return imported;
}

ImportedMemories import_memories(const ReceivingSlot& to, device::Context context, device::Device& device,
                                 bool& is_refused) {
  ImportedMemories all;
  for (std::uint32_t i = 0; i < to.slot.n_memories; ++i) {
    const device::SharedAllocation& memory = to.slot.memories[i];
    ImportPtr imported = import_for(to, memory, context, device, is_refused);
    if (!imported) return {};
    all.memories.push_back({memory.begin, memory.begin + memory.bytes, imported->begin()});
    all.kept.add(std::move(imported));
  }
  return all;
}

// A receiver's end in one allocation of another process. Nothing: it would lie beyond.
std::optional<pack::End> end_in(const Moved& memory, const Slot& slot, const ComposedLayout& composed,
                                const device::Location& sender) {
  const auto first = static_cast<std::int64_t>(slot.address - memory.begin) + composed.span.begin;
  const auto bytes = static_cast<std::int64_t>(memory.end - memory.begin);
  if (first < 0 || first + composed.span.bytes() > bytes) return {};
  const std::uint64_t address = memory.here + (slot.address - memory.begin);
  const device::Location there{device::MemoryKind::device, sender.ordinal, sender.context, memory.here,
                               memory.here + static_cast<std::uint64_t>(bytes)};
  return pack::End{reinterpret_cast<void*>(address), 0, &composed.far, {there}};
}

BufferLayout layout_of(const Transfer& transfer) {
  const pack::BoxMove& box_move = transfer.packed_buffer.box_move();
  return {transfer.packed_buffer.prepared(), box_move.count, box_move.laid_out().extent};
}

PutTarget make_target(ComposedLayoutPtr&& composed, const Transfer& transfer, const pack::End& to, Mappings imported) {
  const pack::End& from = transfer.packed_buffer.box_move().laid_out();
  const pack::BoxMove box_move{&*composed->mapping, &composed->launches, 1, transfer.packed_buffer.bytes(), from, to};
  return {std::move(composed), std::move(imported), box_move};
}

PutTarget packed_target(const Transfer& transfer, void* address, const device::Location& place) {
  const pack::BoxMove& own = transfer.packed_buffer.box_move();
  pack::End packed = pack::dense_end(*own.laid_out().layout, address);
  packed.place = {place};
  const pack::PreparedPtr& prepared = transfer.packed_buffer.prepared();
  return {prepared, {}, pack::box_move_of(pack::Direction::pack, *prepared, own.count, own.laid_out(), packed)};
}

std::optional<PutTarget> target_in_own(const ReceivingSlot& to, const Transfer& transfer) {
  const PublishedReceive& received = *static_cast<PublishedReceive*>(to.slot.own);
  const device::Location& sender = transfer.packed_buffer.box_move().laid_out().place.first;
  if (received.end.place.first.context != sender.context) return {};
  const auto boxes = [&] { return BufferLayout{received.prepared, received.count, received.end.extent}.boxes(); };
  ComposedLayoutPtr composed = composed_layout(layout_of(transfer), {to.rank, to.slot.layout}, {}, boxes);
  if (!composed->mapping) return {};
  return make_target(std::move(composed), transfer, received.end, {});
}

std::optional<PutTarget> target_in_other(const ReceivingSlot& to, const Transfer& transfer, bool& may_come) {
  const pack::Place& sender = transfer.packed_buffer.box_move().laid_out().place;
  bool is_refused = false;
  ImportedMemories there = import_memories(to, sender.first.context, transfer.packed_buffer.device(), is_refused);
  may_come = there.memories.empty() && !is_refused;
  if (there.memories.empty()) return {};
  const bool is_one = there.memories.size() == 1;
  const Moved first = there.memories.front();
  const MovedBuffer place = is_one ? MovedBuffer{} : MovedBuffer{to.slot.address, std::move(there.memories)};
  ComposedLayoutPtr composed = composed_layout(layout_of(transfer), {to.rank, to.slot.layout}, place,
                                               [&] { return boxes_of(to.segment, to.slot); });
  if (!composed->mapping) return {};
  const std::optional<pack::End> end =
      is_one ? end_in(first, to.slot, *composed, sender.first) : pack::End{nullptr, 0, &composed->far, sender};
  if (!end) return {};
  return make_target(std::move(composed), transfer, *end, std::move(there.kept));
}

}  // namespace

std::optional<PutTarget> target_in(const ReceivingSlot& to, const Transfer& transfer, bool& may_come) {
  return to.is_own ? target_in_own(to, transfer) : target_in_other(to, transfer, may_come);
}

std::optional<PutTarget> bounce_target_in(const ReceivingSlot& to, const Transfer& transfer, bool& may_come) {
  const Slot& slot = to.slot;
  const device::Location& sender = transfer.packed_buffer.box_move().laid_out().place.first;
  const std::uint64_t first = slot.bounce_address - slot.bounce_buffer.begin;
  if (first > slot.bounce_buffer.bytes || slot.bounce_buffer.bytes - first < static_cast<std::uint64_t>(slot.bytes))
    return {};
  bool is_refused = false;
  ImportPtr imported = import_for(to, slot.bounce_buffer, sender.context, transfer.packed_buffer.device(), is_refused);
  may_come = !imported && !is_refused;
  if (!imported) return {};
  PutTarget target = packed_target(transfer, reinterpret_cast<void*>(imported->begin() + first),
                                   {device::MemoryKind::device, sender.ordinal, sender.context, imported->begin(),
                                    imported->begin() + slot.bounce_buffer.bytes});
  target.imported.add(std::move(imported));
  return target;
}

std::optional<PutTarget> own_bounce_target_in(const ReceivingSlot& to, const Transfer& transfer) {
  PublishedReceive& received = *static_cast<PublishedReceive*>(to.slot.own);
  const device::Location& sender = transfer.packed_buffer.box_move().laid_out().place.first;
  constexpr std::int64_t kMostTimes = 4;  // as long as the message
  if (received.end.place.first.context != sender.context) return {};
  if (received.bytes() > kMostTimes * transfer.packed_buffer.bytes()) return {};
  if (!received.bounce_buffer)
    received.bounce_buffer =
        BounceBuffer::make_own(transfer.packed_buffer.device(), *received.prepared, received.count, received.end);
  if (!received.bounce_buffer) return {};
  const pack::End& packed = received.bounce_buffer->end();
  return packed_target(transfer, packed.address, packed.place.first);
}

}  // namespace tempi::message
