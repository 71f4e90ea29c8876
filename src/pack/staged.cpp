// The strategy "staged": kernels pack into device memory while the copy engine takes finished chunks to the host.
#include <algorithm>
#include <array>
#include <functional>

#include "pack/batch.hpp"
#include "pack/engine.hpp"
#include "pack/mover.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;
using datatype::Boxes;
using device::Device;
using device::Lane;
using device::MarkPtr;
using device::Scope;

// Dense bytes [begin, end) and the kernel that moves them between the laid-out end and the stage.
struct Chunk {
  std::int64_t begin, end;
  std::function<void(const Scope&)> queue_kernel;
};

// A transfer of whole elements from or to the stage.
Chunk elements(const Transfer& staged, std::int64_t first, std::int64_t n) {
  Transfer part = staged;
  part.count = n;
  part.source.address = staged.source.at(first * staged.source.extent);
  part.destination.address = staged.destination.at(first * staged.destination.extent);
  const std::int64_t size = staged.dense().extent;
  return {first * size, (first + n) * size, [part](const Scope& here) { queue(here, part); }};
}

// Positions [first, first + n) of a dimension that is outermost at the dense end.
Chunk slice(const Transfer& staged, const Box& box, int dim, std::int64_t first, std::int64_t n) {
  Box part = box;
  part.dims[dim].count = n;
  part.src_offset += first * box.dims[dim].src_stride;
  part.dst_offset += first * box.dims[dim].dst_stride;
  return {
      part.dst_offset, part.dst_offset + n * box.dims[dim].dst_stride,
      [staged, boxes = Boxes{staged.mapping->oriented(part)}](const Scope& here) { queue_boxes(here, staged, boxes); }};
}

int outermost_dense_dim(const Box& box) {
  int outermost = 0;
  for (int d = 1; d < box.n_dims; ++d) {
    if (box.dims[d].dst_stride > box.dims[outermost].dst_stride) outermost = d;
  }
  return outermost;
}

// A single loop nest is cut along its outermost dense dimension; others are not cut inside an element.
bool can_slice(const Boxes& boxes) {
  if (boxes.size() != 1 || boxes.front().n_dims == 0) return false;
  const Box& box = boxes.front();
  return !box.table || box.table_dim != outermost_dense_dim(box);
}

std::vector<Chunk> chunks_of(const Transfer& staged, std::int64_t chunk_bytes) {
  std::vector<Chunk> chunks;
  const Boxes& written = staged.mapping->written();
  if (staged.count == 1 && can_slice(written)) {
    const Box& box = written.front();
    const int dim = outermost_dense_dim(box);
    const std::int64_t step = std::max<std::int64_t>(1, chunk_bytes / box.dims[dim].dst_stride);
    for (std::int64_t at = 0; at < box.dims[dim].count; at += step) {
      chunks.push_back(slice(staged, box, dim, at, std::min(step, box.dims[dim].count - at)));
    }
    return chunks;
  }
  const std::int64_t step = std::max<std::int64_t>(1, chunk_bytes / staged.dense().extent);
  for (std::int64_t at = 0; at < staged.count; at += step)
    chunks.push_back(elements(staged, at, std::min(step, staged.count - at)));
  return chunks;
}

// A chunk hops from the source to the stage, and from there to the destination.
struct Hop {
  Lane lane;
  std::function<void(const Scope&, const Chunk&)> queue;
};

Hop kernel_hop() {
  return {Lane::kernels, [](const Scope& here, const Chunk& chunk) { chunk.queue_kernel(here); }};
}

// Between dense memory.
Hop copy_hop(const void* src, void* dst) {
  return {Lane::copies, [=](const Scope& here, const Chunk& chunk) {
            here.copy(static_cast<std::byte*>(dst) + chunk.begin, static_cast<const std::byte*>(src) + chunk.begin,
                      static_cast<std::size_t>(chunk.end - chunk.begin));
          }};
}

std::array<Hop, 2> hops_of(const Transfer& transfer, std::byte* stage) {
  if (transfer.source.is_dense()) return {copy_hop(transfer.source.address, stage), kernel_hop()};
  return {kernel_hop(), copy_hop(stage, transfer.destination.address)};
}

}  // namespace

MarkPtr queue_staged(const Transfer& transfer, const Stage& stage, Device& device) {
  const device::Context context = worker_of(transfer).context;
  const auto [first, second] = hops_of(transfer, stage.on_device);
  MarkPtr last;
  for (const Chunk& chunk : chunks_of(transfer.with_dense_at(stage.on_device), stage.chunk_bytes)) {
    MarkPtr fed;
    {
      const Scope here(device, context, first.lane);
      first.queue(here, chunk);
      fed = here.mark();
    }
    const Scope here(device, context, second.lane);
    here.wait_for(*fed);
    second.queue(here, chunk);
    last = here.mark();
  }
  return last;
}

}  // namespace tempi::pack
