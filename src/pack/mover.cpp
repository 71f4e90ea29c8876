#include "pack/mover.hpp"

#include <algorithm>

#include "pack/kernels.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;
using datatype::Boxes;

constexpr std::uint32_t kMaxTiles = 0x7fffffff;  // of one launch

std::uintptr_t alignment_of(const void* src, const void* dst) {
  return (reinterpret_cast<std::uintptr_t>(src) | reinterpret_cast<std::uintptr_t>(dst)) & 15;
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

Launches launches_of_long_list(device::Device& device, const Plan& plan, const Shape& shape) {
  const bool packing = shape.direction == Direction::pack;
  const std::int64_t size = plan.layout.size;
  const auto extents = static_cast<std::uintptr_t>(shape.count > 1 ? shape.extent | size : 0);
  const UploadedList& list = plan.list(device, shape.context, shape.direction, (shape.alignment | extents) & 15);
  ManyBoxes params{};
  params.boxes = static_cast<const KernelBox*>(list.boxes->data());
  params.tiles = static_cast<const TileOfList*>(list.tiles->data());
  params.src_extent = packing ? shape.extent : size;
  params.dst_extent = packing ? size : shape.extent;
  params.tiles_per_element = list.grid.tiles;
  Launches launches;
  const std::int64_t elements_per_launch = std::max<std::int64_t>(1, kMaxTiles / list.grid.tiles);
  for (std::int64_t first = 0; first < shape.count; first += elements_per_launch) {
    const std::int64_t elements = std::min(elements_per_launch, shape.count - first);
    const device::Grid grid{static_cast<std::uint32_t>(elements) * list.grid.tiles, list.grid.threads};
    launches.push_back(
        {&kernel_of_many(list.depth), grid, first * params.src_extent, first * params.dst_extent, params});
  }
  return launches;
}

// Those of a shape that was called before are kept.
Plan::LaunchesPtr launches_of(device::Device& device, const Plan& plan, const Shape& shape) {
  if (Plan::LaunchesPtr known = plan.find_launches(shape)) return known;
  if (plan.is_long()) return plan.keep_launches(shape, launches_of_long_list(device, plan, shape));
  const Boxes boxes = oriented_boxes(plan, {shape.count, shape.extent}, shape.direction);
  return plan.keep_launches(shape, assemble(kernel_boxes(device, shape.context, plan, boxes, shape.alignment)));
}

void queue_copy(device::Device& device, const Box& box, const void* src, void* dst) {
  device.copy(static_cast<char*>(dst) + box.dst_offset, static_cast<const char*>(src) + box.src_offset,
              static_cast<std::size_t>(box.block_bytes));
}

void run_all(const Launches& launches, device::Device& device, const void* src, void* dst) {
  for (const Launch& launch : launches) launch.run(device, src, dst);
}

}  // namespace

bool is_plain_copy(const Boxes& boxes) { return boxes.size() == 1 && boxes.front().n_dims == 0; }

bool is_plain_copy(const Plan& plan, Repeat repeat) {
  return is_plain_copy(plan.layout.boxes) && (repeat.count == 1 || repeat.extent == plan.layout.size);
}

Box oriented_box(const Box& box, const Plan& plan, Repeat repeat, Direction direction) {
  const Box all = datatype::repeated(box, repeat.count, repeat.extent, plan.layout.size);
  return direction == Direction::unpack ? datatype::reversed(all) : all;
}

Boxes oriented_boxes(const Plan& plan, Repeat repeat, Direction direction) {
  Boxes boxes;
  if (repeat.count == 0) return boxes;
  boxes.reserve(plan.layout.boxes.size());
  for (const Box& box : plan.layout.boxes) boxes.push_back(oriented_box(box, plan, repeat, direction));
  return boxes;
}

void queue_boxes(device::Device& device, device::Context context, const Plan& plan, const Boxes& boxes, const void* src,
                 void* dst) {
  if (is_plain_copy(boxes)) return queue_copy(device, boxes.front(), src, dst);
  run_all(assemble(kernel_boxes(device, context, plan, boxes, alignment_of(src, dst))), device, src, dst);
}

void add_kernel_boxes(device::Device& device, device::Context context, const Plan& plan, Repeat repeat,
                      Direction direction, const void* src, void* dst, std::vector<KernelBox>& boxes) {
  const Shape shape{context, direction, alignment_of(src, dst), repeat.count, repeat.extent};
  const std::size_t first = boxes.size();
  for (const Launch& launch : *launches_of(device, plan, shape)) {
    if (const auto* one = std::get_if<OneBox>(&launch.params)) boxes.push_back(one->box);
    if (const auto* windowed = std::get_if<OneWindowed>(&launch.params)) boxes.push_back(windowed->box);
    if (const auto* few = std::get_if<FewBoxes>(&launch.params))
      boxes.insert(boxes.end(), few->boxes, few->boxes + few->n_boxes);
  }
  for (auto box = boxes.begin() + static_cast<std::ptrdiff_t>(first); box != boxes.end(); ++box) {
    box->src_offset += reinterpret_cast<std::intptr_t>(src);
    box->dst_offset += reinterpret_cast<std::intptr_t>(dst);
  }
}

void queue_plan(device::Device& device, device::Context context, const Plan& plan, Repeat repeat, Direction direction,
                const void* src, void* dst) {
  if (is_plain_copy(plan, repeat)) {
    return queue_copy(device, oriented_box(plan.layout.boxes.front(), plan, repeat, direction), src, dst);
  }
  const Shape shape{context, direction, alignment_of(src, dst), repeat.count, repeat.extent};
  run_all(*launches_of(device, plan, shape), device, src, dst);
}

}  // namespace tempi::pack
