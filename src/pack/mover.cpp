#include "pack/mover.hpp"

#include <algorithm>

#include "pack/kernels.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;
using datatype::Boxes;

// Up to here there is a thread for every word that an H200 can hold at once; beyond, threads do several words each.
constexpr std::int64_t kShallowWords = 132 * 2048;

constexpr std::uint32_t kMaxTiles = 0x7fffffff;  // of one launch

std::uintptr_t alignment_of(const void* src, const void* dst) {
  return reinterpret_cast<std::uintptr_t>(src) | reinterpret_cast<std::uintptr_t>(dst);
}

std::vector<KernelBox> kernel_boxes(device::Device& device, device::Context context, const Plan& plan,
                                    const Boxes& boxes, std::uintptr_t alignment) {
  std::vector<KernelBox> all;
  all.reserve(boxes.size());
  for (const Box& box : boxes) {
    const std::uint32_t word = word_bytes_of(box, alignment);
    const DeviceTable table = box.table ? plan.table(device, context, box) : DeviceTable{};
    for (const Cut& cut : cut_for_kernel(box, word)) all.push_back(kernel_box(cut, word, table));
  }
  return all;
}

std::int64_t words_of(const std::vector<KernelBox>& boxes) {
  std::int64_t words = 0;
  for (const KernelBox& box : boxes) words += box.n_words;
  return words;
}

void launch_one(device::Device& device, const KernelBox& box, Depth depth, const void* src, void* dst) {
  const OneBox params{static_cast<const char*>(src), static_cast<char*>(dst), box};
  device.launch(kernel_for(params, depth), tiles_of(box, depth), &params);
}

void launch_few(device::Device& device, const KernelBox* boxes, std::uint32_t n_boxes, Depth depth, const void* src,
                void* dst) {
  FewBoxes params;
  params.src = static_cast<const char*>(src);
  params.dst = static_cast<char*>(dst);
  params.n_boxes = n_boxes;
  std::uint32_t tiles = 0;
  for (std::uint32_t b = 0; b < n_boxes; ++b) {
    params.first_tile[b] = tiles;
    params.boxes[b] = boxes[b];
    tiles += tiles_of(boxes[b], depth);
  }
  device.launch(kernel_for(params, depth), tiles, &params);
}

void launch_many(device::Device& device, const UploadedList& list, Repeat repeat, std::int64_t size,
                 Direction direction, const void* src, void* dst) {
  const bool packing = direction == Direction::pack;
  ManyBoxes params{};
  params.boxes = static_cast<const KernelBox*>(list.boxes->data());
  params.box_of_tile = static_cast<const std::uint32_t*>(list.box_of_tile->data());
  params.first_tile = static_cast<const std::uint32_t*>(list.first_tile->data());
  params.src_extent = packing ? repeat.extent : size;
  params.dst_extent = packing ? size : repeat.extent;
  params.tiles_per_element = list.tiles;
  const std::int64_t elements_per_launch = std::max<std::int64_t>(1, kMaxTiles / list.tiles);
  for (std::int64_t first = 0; first < repeat.count; first += elements_per_launch) {
    const std::int64_t elements = std::min(elements_per_launch, repeat.count - first);
    params.src = static_cast<const char*>(src) + first * params.src_extent;
    params.dst = static_cast<char*>(dst) + first * params.dst_extent;
    device.launch(kernel_for(params, list.depth), static_cast<std::uint32_t>(elements) * list.tiles, &params);
  }
}

}  // namespace

bool is_plain_copy(const Boxes& boxes) { return boxes.size() == 1 && boxes.front().n_dims == 0; }

Depth depth_for(std::int64_t words) { return words <= kShallowWords ? Depth::shallow : Depth::deep; }

Boxes oriented_boxes(const Plan& plan, Repeat repeat, Direction direction) {
  Boxes boxes = datatype::repeated(plan.layout.boxes, repeat.count, repeat.extent, plan.layout.size);
  if (direction == Direction::unpack) std::transform(boxes.begin(), boxes.end(), boxes.begin(), datatype::reversed);
  return boxes;
}

void queue_boxes(device::Device& device, device::Context context, const Plan& plan, const Boxes& boxes, const void* src,
                 void* dst) {
  if (is_plain_copy(boxes)) {
    const Box& box = boxes.front();
    device.copy(static_cast<char*>(dst) + box.dst_offset, static_cast<const char*>(src) + box.src_offset,
                static_cast<std::size_t>(box.block_bytes));
    return;
  }
  const std::vector<KernelBox> all = kernel_boxes(device, context, plan, boxes, alignment_of(src, dst));
  const Depth depth = depth_for(words_of(all));
  if (all.size() == 1) return launch_one(device, all.front(), depth, src, dst);
  for (std::size_t first = 0; first < all.size(); first += kFewBoxes) {
    const std::size_t n = std::min<std::size_t>(kFewBoxes, all.size() - first);
    launch_few(device, &all[first], static_cast<std::uint32_t>(n), depth, src, dst);
  }
}

void queue_plan(device::Device& device, device::Context context, const Plan& plan, Repeat repeat, Direction direction,
                const void* src, void* dst) {
  if (plan.is_long()) {
    std::uintptr_t alignment = alignment_of(src, dst);
    if (repeat.count > 1) alignment |= static_cast<std::uintptr_t>(repeat.extent | plan.layout.size);
    const UploadedList& list = plan.list(device, context, direction, alignment);
    return launch_many(device, list, repeat, plan.layout.size, direction, src, dst);
  }
  queue_boxes(device, context, plan, oriented_boxes(plan, repeat, direction), src, dst);
}

}  // namespace tempi::pack
