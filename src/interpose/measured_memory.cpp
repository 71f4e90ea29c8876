#include "interpose/measured_memory.hpp"

#include <algorithm>

namespace tempi::interpose {
namespace {

using device::MemoryKind;

// From the first byte of the elements to behind the last one.
struct Span {
  std::int64_t begin, end;
};
Span span_of(const datatype::Layout& layout, const pack::Repeat& repeat) {
  const std::int64_t last = (repeat.count - 1) * repeat.extent;
  return {layout.true_lower_bound + std::min<std::int64_t>(0, last),
          layout.true_upper_bound + std::max<std::int64_t>(0, last)};
}

}  // namespace

bool has_gpu() {
  device::Device* const device = device::current();
  return device != nullptr && device->facts().count > 0;
}

Typed::Typed(const tempi_measurement& what, MemoryKind kind) : Typed(what, kind, decoded(what.datatype)) {}

Typed::Typed(const tempi_measurement& what, MemoryKind kind, const datatype::Type& type)
    : n_chunks_(what.parts),
      plan_(std::make_shared<pack::Plan>(type.tree)),
      repeat_{what.count, type.extent},
      memory_(kind, span_of(plan_->layout, repeat_).end - span_of(plan_->layout, repeat_).begin),
      data_(memory_.data() - span_of(plan_->layout, repeat_).begin) {}

send::Side Typed::side(pack::Direction direction, send::Strategy strategy) {
  send::Side side{direction, plan_, repeat_, data_, {}, strategy};
  if (n_chunks_ > 0) side.chunk_bytes = (bytes() + n_chunks_ - 1) / n_chunks_;
  if (strategy != send::Strategy::host) side.route = pack::find_route(transfer(direction, nullptr), {}, gpu());
  return side;
}

}  // namespace tempi::interpose
