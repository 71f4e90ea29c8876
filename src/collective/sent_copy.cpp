#include "collective/sent_copy.hpp"

#include "base/recycled.hpp"
#include "collective/blocks.hpp"
#include "message/grouped.hpp"

namespace tempi::collective {

using message::Lifetime;
using model::Strategy;

SentCopy::SentCopy(const Real& real, Handle comm, const Pieces& pieces)
    : message_(make_recycled<message::Message>(real, comm, Lifetime::call)) {
  if (pieces.outs.empty()) return;
  device::Device* const device = device::current();
  const std::vector<Source> sources = find_sources(pieces, device);
  take_memory(device);
  for (std::size_t i = 0; i < sources.size(); ++i) add(pieces.outs[i], sources[i], device);
}

std::vector<SentCopy::Source> SentCopy::find_sources(const Pieces& pieces, device::Device* device) {
  std::vector<Source> sources;
  for (const Piece& piece : pieces.outs) {
    if (!piece.structure) throw LeftToLibrary{};
    const datatype::Layout& layout = piece.structure->plan.layout;
    pack::End end = pack::laid_out_end(layout, moved_by(pieces.from, piece.displacement), piece.extent);
    if (device != nullptr) end.place = pack::locate(end, piece.count, *device);
    const pack::Place& place = end.place;
    if (place.touches_gpu() && !worker_.on_gpu()) worker_ = place.gpu();
    is_on_one_gpu_ =
        is_on_one_gpu_ && !place.is_split() && place.first.on_gpu() && place.first.context == worker_.context;
    sources.push_back({end, bytes_});
    bytes_ = aligned(bytes_ + piece.count * layout.size);
  }
  return sources;
}

void SentCopy::take_memory(device::Device* device) {
  constexpr auto kOverrun = device::Overrun::impossible;  // nothing is received there
  const auto has_taken = [&](device::MemoryKind kind) {
    return memory_.take(*device, worker_, kind, bytes_, device::Limit::pool, kOverrun);
  };
  if (is_on_one_gpu_ && has_taken(device::MemoryKind::device)) return;
  if (worker_.on_gpu() && has_taken(device::MemoryKind::pinned)) return;
  memory_.take_ordinary(device, bytes_, kOverrun);
}

void SentCopy::add(const Piece& piece, const Source& source, device::Device* device) {
  const Strategy strategy = memory_.is_on_gpu() ? Strategy::device : Strategy::oneshot;
  message_->outs.add(message::Side{pack::Direction::pack, piece.structure, piece.count, source.end, strategy}, device,
                     memory_.from(source.offset));
  types_.push_back(packed_element(piece.count * piece.structure->plan.layout.size));
  const Handle type = types_.back()->handle();
  const KnownType& known = resolve(type, message_->comm);
  packed_.push_back({piece.peer, source.offset, 1, type, known.prepared, known.extent});
}

void SentCopy::renew() {
  device::Location seen{};
  message_->outs.each([&](message::Part& part) { part.payload.look_again(seen); });
  message_->failure.reset();
  message::pack_together({message_});
  if (message_->failure) throw Error(*message_->failure);
}

}  // namespace tempi::collective
