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
  if (device == nullptr) throw LeftToLibrary{};
  const std::vector<Source> sources = find_sources(pieces, *device);
  memory_ =
      std::make_shared<device::Staging>(*device, gpu_.context, device::MemoryKind::device, bytes_, device::Limit::pool);
  for (std::size_t i = 0; i < sources.size(); ++i) add(pieces.outs[i], sources[i], *device);
}

std::vector<SentCopy::Source> SentCopy::find_sources(const Pieces& pieces, device::Device& device) {
  std::vector<Source> sources;
  for (const Piece& piece : pieces.outs) {
    if (!piece.structure) throw LeftToLibrary{};
    const datatype::Layout& layout = piece.structure->plan.layout;
    pack::End end = pack::laid_out_end(layout, moved_by(pieces.from, piece.displacement), piece.extent);
    end.place = pack::locate(end, piece.count, device);
    const device::Location& found = end.place.first;
    if (end.place.is_split() || !found.on_gpu()) throw LeftToLibrary{};
    if (!gpu_.on_gpu()) gpu_ = {device::MemoryKind::device, found.ordinal, found.context};
    if (found.context != gpu_.context) throw LeftToLibrary{};
    sources.push_back({end, bytes_});
    bytes_ = aligned(bytes_ + piece.count * layout.size);
  }
  return sources;
}

void SentCopy::add(const Piece& piece, const Source& source, device::Device& device) {
  message_->outs.add(message::Side{pack::Direction::pack, piece.structure, piece.count, source.end, Strategy::device},
                     &device, message::Stretch{memory_, gpu_, source.offset});
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
