#include "window/moves.hpp"

#include "collective/blocks.hpp"
#include "peer/peer.hpp"
#include "sharing/composed_layout.hpp"

namespace tempi::window {
namespace {

using message::BufferLayout;
using message::ComposedLayoutPtr;
using message::PackedBuffer;
using message::Strategy;
using pack::Direction;

BufferLayout layout_of(const Elements& of) { return {of.type.prepared, of.count, of.end.extent}; }

bool is_whole(const Elements& of) {
  const device::Location& at = of.end.place.first;
  return at.kind == device::MemoryKind::device &&
         pack::lies_in_one_place(at, of.end.address, pack::span_of(of.end, of.count));
}

// Null: the two layouts do not compose, or no kernel reaches both.
ComposedLayoutPtr composition_of(const Elements& from, const Elements& to, device::Device& device) {
  if (!is_whole(from) || !is_whole(to) || from.end.place.first.context != to.end.place.first.context) return nullptr;
  const message::LayoutName name{peer::own_rank(), message::published_layout(layout_of(to), to.end, device)->number};
  ComposedLayoutPtr composed =
      message::composed_layout(layout_of(from), name, {}, [&] { return layout_of(to).boxes(); });
  return composed->mapping ? composed : nullptr;
}

// False: no kernel does it.
bool is_moved_by_kernel(const Elements& from, const Elements& to, device::Device& device) {
  const std::optional<KernelMove> move = kernel_move(from, to, device);
  if (!move) return false;
  const pack::Queued queued = launched({&*move, 1});
  queued.mark->wait();
  return true;
}

// Packed bytes go into the target by a kernel, which writes only bytes of the target's blocks, also where the bytes
// end within an element. False: no kernel does it.
bool are_moved_by_kernel(const PackedBuffer& packed, const Elements& to, device::Device& device) {
  if (!is_whole(to)) return false;
  const device::Location& at = to.end.place.first;
  std::optional<device::Staging> beside;
  const void* dense = nullptr;
  {
    const device::Scope here(device, at.context);
    dense = brought_beside(packed, at, here, beside);
    here.finish();
  }
  return is_moved_by_kernel(elements_at(dense, packed.bytes(), collective::resolve(type_byte(), comm_null()), device),
                            to, device);
}

}  // namespace

const void* brought_beside(const PackedBuffer& packed, const device::Location& target, const device::Scope& here,
                           std::optional<device::Staging>& beside) {
  const pack::End& dense = packed.box_move().dense();
  const device::Location& at = dense.place.first;
  if (at.kind == device::MemoryKind::device && at.context == target.context) return dense.address;
  beside.emplace(here.device(), target.context, device::MemoryKind::device, packed.bytes());
  here.copy(beside->data(), dense.address, static_cast<std::size_t>(packed.bytes()));
  return beside->data();
}

Elements elements_at(const void* address, Count count, const KnownType& type, device::Device& device) {
  pack::End end = pack::laid_out_end(type.plan->layout, address, type.extent);
  if (count > 0 && type.size() > 0) end.place = pack::locate(end, count, device);
  return {type, count, std::move(end)};
}

std::unique_ptr<PackedBuffer> gathered(const Elements& from, Strategy strategy, device::Device& device) {
  auto packed = std::make_unique<PackedBuffer>(
      message::Endpoint{Direction::pack, from.type.prepared, from.count, from.end, strategy}, &device,
      device::Limit::none);
  packed->move();
  return packed;
}

void scatter(const pack::End& dense, std::int64_t bytes, const Elements& to, device::Device& device) {
  PackedBuffer arrived({Direction::unpack, to.type.prepared, to.count, to.end, Strategy::host, 0, true}, &device,
                       device::Limit::none);
  pack::End packed = dense;
  packed.extent = to.type.size();  // whatever elements were packed
  arrived.take_from(packed);
  arrived.unpack(bytes);
}

std::optional<KernelMove> kernel_move(const Elements& from, const Elements& to, device::Device& device) {
  const ComposedLayoutPtr composed = composition_of(from, to, device);
  if (!composed) return {};
  const pack::End far{to.end.address, 0, &composed->far, to.end.place};
  const pack::BoxMove box_move{&*composed->mapping, &composed->launches, 1, from.bytes(), from.end, far};
  return KernelMove{&device, box_move, composed, from.type.prepared};
}

pack::Queued launched(std::span<const KernelMove> moves) {
  const device::Scope here(*moves.front().device, moves.front().context());
  pack::Batch batch(here);
  for (const KernelMove& move : moves) batch.add_direct({&move.box_move, &move.composed, true});
  return batch.queue();
}

void move(const Elements& from, const Elements& to, device::Device& device) {
  if (from.bytes() > 0 && !is_moved_by_kernel(from, to, device)) move_packed(from, to, device);
}

void move_packed(const Elements& from, const Elements& to, device::Device& device) {
  const auto packed = gathered(from, Strategy::device, device);
  if (are_moved_by_kernel(*packed, to, device)) return;
  scatter(packed->box_move().dense(), from.bytes(), to, device);
}

}  // namespace tempi::window
