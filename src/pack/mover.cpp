#include "pack/mover.hpp"

#include <algorithm>

#include "pack/kernels.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;
using datatype::Boxes;
using device::Scope;

constexpr std::uint32_t kMaxTiles = 0x7fffffff;  // of one launch

std::uintptr_t alignment_of(const Transfer& transfer) {
  return (reinterpret_cast<std::uintptr_t>(transfer.source.address) |
          reinterpret_cast<std::uintptr_t>(transfer.destination.address)) &
         15;
}

Shape shape_of(const Scope& here, const Transfer& transfer) {
  return {here.context(),
          transfer.mapping,
          alignment_of(transfer),
          transfer.count,
          {transfer.source.extent, transfer.destination.extent}};
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
LaunchCache::LaunchesPtr launches_of(const Scope& here, const Transfer& transfer) {
  LaunchCache& cache = *transfer.cache;
  const Shape shape = shape_of(here, transfer);
  if (LaunchCache::LaunchesPtr known = cache.find(shape)) return known;
  if (transfer.mapping->is_long()) return cache.keep(shape, launches_of_long_list(here, cache, shape));
  return cache.keep(shape, assemble(kernel_boxes(here, cache, boxes_of(transfer), shape.alignment)));
}

void queue_copy(const Scope& here, const Transfer& transfer, const Box& box) {
  here.copy(transfer.destination.at(box.dst_offset), transfer.source.at(box.src_offset),
            static_cast<std::size_t>(box.block_bytes));
}

void run_all(const Launches& launches, const Scope& here, const Transfer& transfer) {
  for (const Launch& launch : launches) launch.run(here, transfer.source.address, transfer.destination.address);
}

void add_boxes_of_launches(const Launches& launches, std::vector<KernelBox>& boxes) {
  for (const Launch& launch : launches) {
    if (const auto* one = std::get_if<OneBox>(&launch.params)) boxes.push_back(one->box);
    if (const auto* windowed = std::get_if<OneWindowed>(&launch.params)) boxes.push_back(windowed->box);
    if (const auto* few = std::get_if<FewBoxes>(&launch.params))
      boxes.insert(boxes.end(), few->boxes, few->boxes + few->n_boxes);
  }
}

bool is_plain_copy(const Transfer& transfer) {
  return pack::is_plain_copy(transfer.mapping->written()) &&
         (transfer.count == 1 || transfer.source.extent == transfer.destination.extent);
}

}  // namespace

void queue_boxes(const Scope& here, const Transfer& transfer, const Boxes& boxes) {
  if (pack::is_plain_copy(boxes)) return queue_copy(here, transfer, boxes.front());
  run_all(assemble(kernel_boxes(here, *transfer.cache, boxes, alignment_of(transfer))), here, transfer);
}

void add_kernel_boxes(const Scope& here, const Transfer& transfer, std::vector<KernelBox>& boxes) {
  const std::size_t first = boxes.size();
  if (transfer.mapping->is_long()) {
    const auto all = kernel_boxes(here, *transfer.cache, boxes_of(transfer), alignment_of(transfer));
    boxes.insert(boxes.end(), all.begin(), all.end());
  } else {
    add_boxes_of_launches(*launches_of(here, transfer), boxes);
  }
  for (auto box = boxes.begin() + static_cast<std::ptrdiff_t>(first); box != boxes.end(); ++box) {
    box->src_offset += reinterpret_cast<std::intptr_t>(transfer.source.address);
    box->dst_offset += reinterpret_cast<std::intptr_t>(transfer.destination.address);
  }
}

void queue(const Scope& here, const Transfer& transfer) {
  if (is_plain_copy(transfer)) return queue_copy(here, transfer, boxes_of(transfer).front());
  run_all(*launches_of(here, transfer), here, transfer);
}

}  // namespace tempi::pack
