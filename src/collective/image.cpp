#include "collective/image.hpp"

#include <algorithm>

#include "pack/engine.hpp"

namespace tempi::collective {

Image::Image(const KnownType& type, std::byte* packed, std::int64_t n_read, std::int64_t n_written)
    : prepared_(type.prepared),
      packed_(packed),
      n_read_(n_read),
      n_written_(n_written),
      elements_(pack::laid_out_end(type.plan->layout, nullptr, type.extent)) {
  const pack::Span span = pack::span_of(elements_, std::max(n_read, n_written));
  bytes_.resize(static_cast<std::size_t>(span.bytes()));
  elements_.address = bytes_.data();
  elements_.address = elements_.at(-span.begin);
}

void Image::move(pack::Direction direction, std::int64_t count) const {
  if (count == 0) return;
  pack::move_on_host(
      pack::transfer_of(direction, *prepared_, count, elements_, pack::dense_end(*elements_.layout, packed_)));
}

}  // namespace tempi::collective
