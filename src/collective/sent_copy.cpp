#include "collective/sent_copy.hpp"

#include <algorithm>

#include "base/recycled.hpp"
#include "collective/blocks.hpp"
#include "message/grouped.hpp"
#include "message/message_call.hpp"

namespace tempi::collective {
namespace {

using device::MemoryKind;
using message::Lifetime;
using model::Strategy;

std::int64_t size_of(Handle type) {
  Count size = 0;
  real_pmpi().MPI_Type_size_x(type, &size);
  return size;
}

message::Choice choice_of(const Piece& piece, const pack::Place& place, Handle comm) {
  const pack::Plan& plan = piece.structure->plan;
  const pack::Repeat repeat{piece.count, piece.extent};
  const bool is_contiguous = pack::is_plain_copy(plan, repeat) && !place.is_split();
  return message::choose({place.touches_gpu() ? MemoryKind::device : MemoryKind::host, is_contiguous,
                          message::features_of(plan, repeat), plan.traffic.is_indexed, comm, piece.peer});
}

}  // namespace

SentCopy::SentCopy(const Real& real, Handle comm, const Pieces& pieces, device::Limit limit)
    : message_(make_recycled<message::Message>(real, comm, Lifetime::call)) {
  if (pieces.outs.empty()) return;
  device::Device* const device = device::current();
  const auto address_of = [&](const Piece& piece) { return moved_by(pieces.from, piece.displacement); };
  for (const Piece& piece : pieces.outs) find_source(piece, address_of(piece), device);
  take_memory(device, limit);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    add(pieces.outs[i], address_of(pieces.outs[i]), sources_[i], device);
  }
}

void SentCopy::find_source(const Piece& piece, const void* address, device::Device* device) {
  Source source;
  source.offset = bytes_;
  source.bytes = piece.count * (piece.structure ? piece.structure->plan.layout.size : size_of(piece.type));
  if (piece.structure) find_place(source, piece, address, device);
  else memory_.serve({});  // the library packs it, into memory that the CPU reaches
  bytes_ = aligned(bytes_ + source.bytes);
  sources_.push_back(source);
}

void SentCopy::find_place(Source& source, const Piece& piece, const void* address, device::Device* device) {
  source.end = pack::laid_out_end(piece.structure->plan.layout, address, piece.extent);
  pack::Place& place = source.end.place;
  if (device != nullptr) place = pack::locate(source.end, piece.count, *device);
  memory_.serve(place);
  source.choice = choice_of(piece, place, message_->comm);
}

void SentCopy::take_memory(device::Device* device, device::Limit limit) {
  constexpr auto kOverrun = device::Overrun::impossible;  // nothing is received there
  const auto has_taken = [&](MemoryKind kind) { return memory_.take(*device, kind, bytes_, limit, kOverrun); };
  if (memory_.is_all_on_worker() && has_taken(MemoryKind::device)) return;
  if (memory_.worker().on_gpu() && has_taken(MemoryKind::pinned)) return;
  memory_.take_ordinary(device, bytes_, kOverrun);
}

void SentCopy::add(const Piece& piece, const void* address, const Source& source, device::Device* device) {
  if (piece.structure) {
    const Strategy strategy = memory_.is_on_gpu() ? Strategy::device : Strategy::oneshot;
    message_->outs.add(message::Side{pack::Direction::pack, piece.structure, piece.count, source.end, strategy}, device,
                       memory_.from(source.offset));
  } else {
    if (!message::fits_int(piece.count) || !message::fits_int(source.bytes)) throw LeftToLibrary{};
    foreign_.push_back(
        {address, static_cast<int>(piece.count), static_cast<int>(source.bytes), piece.type, source.offset});
  }
  types_.push_back(packed_element(source.bytes));
  const Handle type = types_.back()->handle();
  const KnownType& known = resolve(type, message_->comm);
  packed_.push_back({piece.peer, source.offset, 1, type, known.prepared, known.extent});
}

// Contiguous bytes of a GPU would be a CUDA-aware library's.
void SentCopy::adapt(message::Side& side, int peer) const {
  const auto found =
      std::find_if(packed_.begin(), packed_.end(), [&](const Piece& piece) { return piece.peer == peer; });
  const message::Choice& choice = sources_[static_cast<std::size_t>(found - packed_.begin())].choice;
  if (!memory_.is_on_gpu() || model::packs_nothing(choice.strategy)) return;
  side.strategy = choice.strategy;
  side.may_be_direct = choice.may_be_direct;
}

void SentCopy::pack(const Foreign& block) const {
  int position = 0;
  const int code = real_pmpi().MPI_Pack(block.address, block.count, block.type, memory_.data() + block.offset,
                                        block.bytes, &position, message_->comm);
  if (code != MPI_SUCCESS) throw Error(ErrorKind::unsupported, "the MPI library does not pack a block");
}

void SentCopy::renew() {
  device::Location seen{};
  message_->outs.each([&](message::Part& part) {
    part.payload.look_again(seen);
    part.payload.come_after_streams();
  });
  message_->failure.reset();
  message::pack_all_of(*message_);
  if (message_->failure) throw Error(*message_->failure);
  for (const Foreign& block : foreign_) pack(block);
}

}  // namespace tempi::collective
