#include "collective/image.hpp"

#include <algorithm>

#include "pack/engine.hpp"

namespace tempi::collective {
namespace {

pack::Span span_of(const pack::End& elements, const std::vector<Image::Block>& blocks) {
  pack::Span all{blocks.front().displacement, blocks.front().displacement};
  for (const Image::Block& block : blocks) {
    const pack::Span span = pack::span_of(elements, block.count);
    all = {std::min(all.begin, block.displacement + span.begin), std::max(all.end, block.displacement + span.end)};
  }
  return all;
}

}  // namespace

Image::Image(const KnownType& type, std::vector<Block> blocks)
    : prepared_(type.prepared),
      blocks_(std::move(blocks)),
      elements_(pack::laid_out_end(type.plan->layout, nullptr, type.extent)) {
  const pack::Span span = span_of(elements_, blocks_);
  bytes_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(span.bytes()));
  elements_.address = bytes_.get();
  elements_.address = elements_.at(-span.begin);
}

void Image::spread() const {
  for (const Block& block : blocks_) {
    if (block.role.reads) move(pack::Direction::unpack, block);
  }
}

void Image::collect() const {
  for (const Block& block : blocks_) {
    if (block.role.writes) move(pack::Direction::pack, block);
  }
}

void Image::move(pack::Direction direction, const Block& block) const {
  pack::End elements = elements_;
  elements.address = elements_.at(block.displacement);
  pack::move_on_host(pack::box_move_of(direction, *prepared_, block.count, elements,
                                       pack::dense_end(*elements_.layout, block.packed)));
}

}  // namespace tempi::collective
