#include "pack/batch.hpp"

#include <cstring>

#include "pack/kernels.hpp"
#include "pack/mover.hpp"

namespace tempi::pack {
namespace {

using device::MemoryKind;
using device::Staging;

constexpr std::int64_t kMostSharedBytes = 64 << 10;  // larger moves hide the time of a separate launch

template <class T>
T* append(std::byte*& at, const std::vector<T>& values) {
  auto* const begin = reinterpret_cast<T*>(at);
  std::memcpy(begin, values.data(), values.size() * sizeof(T));
  at += (values.size() * sizeof(T) + 15) / 16 * 16;
  return begin;
}

}  // namespace

void Batch::add(const BoxMove& box_move) {
  if (box_move.mapping->is_long() || box_move.bytes() > kMostSharedBytes) return pack::queue(here_, box_move);
  add_kernel_boxes(here_, box_move, boxes_);
}

Queued Batch::queue() {
  Queued queued;
  try {
    queued.list = queue_merged(here_, direct_);
    direct_.clear();
    queue_boxes(queued);
    queued.mark = here_.mark_for_cpu();
  } catch (...) {
    here_.settle();  // kernels that are queued read what is about to go
    throw;
  }
  return queued;
}

void Batch::queue_boxes(Queued& queued) {
  if (boxes_.size() > static_cast<std::size_t>(kFewBoxes)) {
    queued.tables = queue_many();
  } else if (!boxes_.empty()) {
    for (const Launch& launch : assemble(boxes_)) launch.run(here_, nullptr, nullptr);
  }
  boxes_.clear();
}

// The list is used once: the kernel reads it where the CPU has written it.
std::shared_ptr<Staging> Batch::queue_many() {
  const LongList list = long_list(std::move(boxes_));
  const auto n_tiles = static_cast<std::uint32_t>(list.tiles.size());
  const std::size_t bytes = list.boxes.size() * sizeof(KernelBox) + n_tiles * sizeof(TileOfList) + 32;
  auto tables =
      std::make_shared<Staging>(here_.device(), here_.context(), MemoryKind::pinned, static_cast<std::int64_t>(bytes));
  std::byte* at = tables->data();
  ManyBoxes params{};
  params.boxes = append(at, list.boxes);
  params.tiles = append(at, list.tiles);
  params.tiles_per_element = n_tiles;
  Launch{&kernel_of_many(list.depth), {n_tiles, list.threads}, 0, 0, params}.run(here_, nullptr, nullptr);
  return tables;
}

}  // namespace tempi::pack
