#include "sharing/composed_layout.hpp"

#include <algorithm>
#include <atomic>

#include "base/kept.hpp"
#include "datatype/compose.hpp"
#include "datatype/cut.hpp"

namespace tempi::message {
namespace {

using datatype::Box;
using datatype::Boxes;
using ipc::PublishedBox;

constexpr std::size_t kMostKept = 256;
constexpr std::size_t kMostBoxes = pack::kMostWrittenOut;  // of a published layout

PublishedBox published(const Box& box) {
  return {box.src_offset, box.dst_offset, box.block_bytes, box.n_dims, box.dims};
}

Box regular(const PublishedBox& box) {
  Box found;
  found.src_offset = box.src_offset;
  found.dst_offset = box.dst_offset;
  found.block_bytes = box.block_bytes;
  found.n_dims = std::clamp(box.n_dims, 0, datatype::kMaxBoxDims);
  found.dims = box.dims;
  return found;
}

ComposedLayoutPtr make_composed(const BufferLayout& from, const LayoutName& to, const MovedBuffer& place,
                                const Boxes& received) {
  std::int64_t room = 0;
  for (const Box& box : received) room += box.payload_bytes();
  const bool is_whole = from.bytes() == room;
  const std::optional<Boxes> filled = is_whole ? received : datatype::first_bytes(received, from.bytes());
  return std::make_shared<ComposedLayout>(from, to, place, filled.value_or(received));
}

// The receiver's boxes, with absolute addresses in this process.
Boxes moved(Boxes boxes, const MovedBuffer& place) {
  for (Box& box : boxes) {
    const datatype::Span span = datatype::span_of(box);
    const std::uint64_t first = place.address + static_cast<std::uint64_t>(span.begin);
    const auto holds = [&](const Moved& one) {
      return first >= one.begin && first + static_cast<std::uint64_t>(span.bytes()) <= one.end;
    };
    const auto allocation = std::find_if(place.allocations.begin(), place.allocations.end(), holds);
    if (allocation == place.allocations.end()) return {};
    box.src_offset += static_cast<std::int64_t>(place.address + allocation->here - allocation->begin);
  }
  return boxes;
}

std::vector<PublishedBox> published_boxes(const Boxes& boxes) {
  const bool is_irregular =
      std::any_of(boxes.begin(), boxes.end(), [](const Box& box) { return box.table != nullptr; });
  std::vector<PublishedBox> all;
  if (is_irregular || boxes.size() > kMostBoxes) return all;
  for (const Box& box : boxes) all.push_back(published(box));
  return all;
}

struct Numbered {
  BufferLayout layout;
  bool is_whole;        // in one allocation, at any address
  const void* address;  // else
  PublishedLayoutPtr published;
};

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::shared_ptr<const PublishedLayout> make_published(const Boxes& boxes) {
  PublishedLayout layout{next_number(), published_boxes(boxes), {}};
  for (const Box& box : boxes) layout.spans.push_back(datatype::span_of(box));
  return std::make_shared<const PublishedLayout>(std::move(layout));
}

// The boxes of a buffer in memory of one kind and one GPU, each in one allocation.
Boxes cut_boxes(const BufferLayout& layout, const pack::End& end, device::Device& device) {
  std::vector<pack::Part> parts = pack::find_parts(end, layout.count, device);
  return parts.size() == 1 ? pack::written_out(std::move(parts.front().boxes)) : Boxes{};
}

}  // namespace

PublishedLayoutPtr published_layout(const BufferLayout& layout, const pack::End& end, device::Device& device) {
  static auto& kept = *new Kept<std::shared_ptr<const Numbered>, kMostKept>;
  const bool is_whole = pack::lies_in_one_place(end.place.first, end.address, pack::span_of(end, layout.count));
  const void* const address = is_whole ? nullptr : end.address;
  const auto is_it = [&](const auto& one) {
    return one->layout == layout && one->is_whole == is_whole && one->address == address;
  };
  const auto found = kept.get(is_it, [&] {
    const Boxes boxes = is_whole ? layout.boxes() : cut_boxes(layout, end, device);
    return std::make_shared<const Numbered>(Numbered{layout, is_whole, address, make_published(boxes)});
  });
  return found->published;
}

Boxes boxes_of(const ipc::Segment& there, const ipc::Slot& slot) {
  const std::size_t end = std::min<std::size_t>(ipc::kBoxes, std::size_t{slot.first_box} + slot.n_boxes);
  Boxes boxes;
  for (std::size_t i = slot.first_box; i < end; ++i) boxes.push_back(regular(there.boxes[i]));
  return boxes;
}

ComposedLayout::ComposedLayout(BufferLayout sent, LayoutName received, MovedBuffer its_place, Boxes filled)
    : from(std::move(sent)),
      to(received),
      place(std::move(its_place)),
      span(pack::span_of(filled)),
      far{.boxes = place.allocations.empty() ? std::move(filled) : moved(std::move(filled), place)},
      boxes(datatype::composed(from.boxes(), far.boxes)) {
  if (boxes) mapping.emplace(*boxes, pack::Mapping::Sense::written);
}

ComposedLayoutPtr composed_layout(const BufferLayout& from, const LayoutName& to, const MovedBuffer& place,
                                  FunctionRef<Boxes()> received_boxes) {
  static auto& kept = *new Kept<ComposedLayoutPtr, kMostKept>;
  return kept.get(
      [&](const ComposedLayoutPtr& one) { return one->to == to && one->from == from && one->place == place; },
      [&] { return make_composed(from, to, place, received_boxes()); });
}

}  // namespace tempi::message
