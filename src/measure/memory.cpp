#include "measure/memory.hpp"

namespace tempi::measure {
using device::MemoryKind;

bool has_gpu() {
  device::Device* const device = device::current();
  return device != nullptr && device->facts().count > 0;
}

Typed::Typed(const Measurement& what, MemoryKind kind) : Typed(what, kind, decoded(what.datatype)) {}

Typed::Typed(const Measurement& what, MemoryKind kind, const datatype::Type& type)
    : n_chunks_(what.parts),
      prepared_(std::make_shared<pack::Prepared>(type.tree)),
      repeat_{what.count, type.extent},
      end_(pack::laid_out_end(prepared_->plan.layout, nullptr, type.extent)),
      span_(pack::span_of(end_, what.count)),
      memory_(kind, span_.bytes()) {
  end_.address = memory_.data() - span_.begin;
}

pack::BoxMove Typed::box_move(pack::Direction direction, void* packed) {
  return pack::box_move_of(direction, *prepared_, repeat_.count, end_, pack::dense_end(*end_.layout, packed));
}

message::Endpoint Typed::side(pack::Direction direction, message::Strategy strategy) {
  message::Endpoint side{direction, prepared_, repeat_.count, end_, strategy};
  if (n_chunks_ > 0) side.chunk_bytes = (bytes() + n_chunks_ - 1) / n_chunks_;
  if (!model::packs_on_host(strategy)) side.end.place = pack::locate(end_, repeat_.count, gpu());
  return side;
}

}  // namespace tempi::measure
