#include "pack/mover.hpp"

#include <algorithm>

#include "pack/kernels.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;
using datatype::Boxes;
using device::Scope;

constexpr std::uint32_t kMaxTiles = 0x7fffffff;  // of one launch

std::uintptr_t alignment_of(const BoxMove& box_move) {
  return (reinterpret_cast<std::uintptr_t>(box_move.source.address) |
          reinterpret_cast<std::uintptr_t>(box_move.destination.address)) &
         15;
}

Shape shape_of(const Scope& here, const BoxMove& box_move) {
  return {here.context(),
          box_move.mapping,
          alignment_of(box_move),
          box_move.count,
          {box_move.source.extent, box_move.destination.extent}};
}

std::vector<KernelBox> kernel_boxes(const Scope& here, LaunchCache& cache, const Boxes& boxes,
                                    std::uintptr_t alignment) {
  std::vector<KernelBox> all;
  all.reserve(boxes.size());
  for (const Box& box : boxes) {
    const std::uint32_t word = word_bytes_of(box, alignment);
    const DeviceTable table = box.table ? cache.table(here, box) : DeviceTable{};
    for (const Cut& cut : cut_for_kernel(box, word)) all.push_back(kernel_box(cut, word, table));
  }
  return all;
}

Launches launches_of_long_list(const Scope& here, LaunchCache& cache, const Shape& shape) {
  const auto [source, destination] = shape.extents;
  const auto extents = static_cast<std::uintptr_t>(shape.count > 1 ? source | destination : 0);
  const UploadedList& list = cache.list(here, *shape.mapping, (shape.alignment | extents) & 15);
  ManyBoxes params{};
  params.boxes = static_cast<const KernelBox*>(list.boxes->data());
  params.tiles = static_cast<const TileOfList*>(list.tiles->data());
  params.src_extent = source;
  params.dst_extent = destination;
  params.tiles_per_element = list.grid.tiles;
  Launches launches;
  const std::int64_t elements_per_launch = std::max<std::int64_t>(1, kMaxTiles / list.grid.tiles);
  for (std::int64_t first = 0; first < shape.count; first += elements_per_launch) {
    const std::int64_t elements = std::min(elements_per_launch, shape.count - first);
    const device::Grid grid{static_cast<std::uint32_t>(elements) * list.grid.tiles, list.grid.threads};
    launches.push_back({&kernel_of_many(list.depth), grid, first * source, first * destination, params});
  }
  return launches;
}

// Launches of the last few shapes are kept.
LaunchCache::LaunchesPtr launches_of(const Scope& here, const BoxMove& box_move) {
  LaunchCache& cache = *box_move.cache;
  const Shape shape = shape_of(here, box_move);
  if (LaunchCache::LaunchesPtr known = cache.find(shape)) return known;
  if (box_move.mapping->is_long()) return cache.keep(shape, launches_of_long_list(here, cache, shape));
  return cache.keep(shape, assemble(kernel_boxes(here, cache, boxes_of(box_move), shape.alignment)));
}

void queue_copy(const Scope& here, const BoxMove& box_move, const Box& box) {
  here.copy(box_move.destination.at(box.dst_offset), box_move.source.at(box.src_offset),
            static_cast<std::size_t>(box.block_bytes));
}

void run_all(const Launches& launches, const Scope& here, const BoxMove& box_move) {
  for (const Launch& launch : launches) launch.run(here, box_move.source.address, box_move.destination.address);
}

void add_boxes_of_launches(const Launches& launches, std::vector<KernelBox>& boxes) {
  for (const Launch& launch : launches) {
    if (const auto* one = std::get_if<OneBox>(&launch.params)) boxes.push_back(one->box);
    if (const auto* windowed = std::get_if<OneWindowed>(&launch.params)) boxes.push_back(windowed->box);
    if (const auto* few = std::get_if<FewBoxes>(&launch.params))
      boxes.insert(boxes.end(), few->boxes, few->boxes + few->n_boxes);
  }
}

bool is_plain_copy(const BoxMove& box_move) {
  return pack::is_plain_copy(box_move.mapping->written()) &&
         (box_move.count == 1 || box_move.source.extent == box_move.destination.extent);
}

}  // namespace

void queue_boxes(const Scope& here, const BoxMove& box_move, const Boxes& boxes) {
  if (pack::is_plain_copy(boxes)) return queue_copy(here, box_move, boxes.front());
  run_all(assemble(kernel_boxes(here, *box_move.cache, boxes, alignment_of(box_move))), here, box_move);
}

void add_kernel_boxes(const Scope& here, const BoxMove& box_move, std::vector<KernelBox>& boxes) {
  const std::size_t first = boxes.size();
  if (box_move.mapping->is_long()) {
    const auto all = kernel_boxes(here, *box_move.cache, boxes_of(box_move), alignment_of(box_move));
    boxes.insert(boxes.end(), all.begin(), all.end());
  } else {
    add_boxes_of_launches(*launches_of(here, box_move), boxes);
  }
  for (auto box = boxes.begin() + static_cast<std::ptrdiff_t>(first); box != boxes.end(); ++box) {
    box->src_offset += reinterpret_cast<std::intptr_t>(box_move.source.address);
    box->dst_offset += reinterpret_cast<std::intptr_t>(box_move.destination.address);
  }
}

void prepare(const Scope& here, const BoxMove& box_move) {
  if (!is_plain_copy(box_move)) static_cast<void>(launches_of(here, box_move));
}

void queue(const Scope& here, const BoxMove& box_move) {
  if (is_plain_copy(box_move)) return queue_copy(here, box_move, boxes_of(box_move).front());
  run_all(*launches_of(here, box_move), here, box_move);
}

}  // namespace tempi::pack
