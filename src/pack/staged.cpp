// The strategy "staged": kernels pack into device memory while the copy engine takes finished chunks to the host.
#include <algorithm>
#include <functional>

#include "pack/batch.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;
using datatype::Boxes;
using device::Context;
using device::Device;
using device::Lane;
using device::MarkPtr;
using device::Scope;

// Packed bytes [begin, end) and the kernel that moves them between the typed side and the staging memory.
struct Chunk {
  std::int64_t begin, end;
  std::function<void()> queue_kernel;
};

struct Job {
  const Transfer& transfer;
  Context context;
  const Stage& stage;
  Device& device;

  const void* source(const void* typed, const void* packed) const {
    return transfer.direction == Direction::pack ? typed : packed;
  }
  void* destination(void* typed, void* packed) const { return transfer.direction == Direction::pack ? packed : typed; }

  // Whole elements.
  Chunk elements(std::int64_t first, std::int64_t n) const {
    const std::int64_t size = transfer.plan.layout.size;
    char* typed = static_cast<char*>(transfer.typed) + first * transfer.repeat.extent;
    std::byte* packed = stage.on_device + first * size;
    return {first * size, (first + n) * size, [=, this] {
              queue_plan(device, context, transfer.plan, {n, transfer.repeat.extent}, transfer.direction,
                         source(typed, packed), destination(typed, packed));
            }};
  }

  // Positions [first, first + n) of a dimension that is outermost on the packed side.
  Chunk slice(const Box& box, int dim, std::int64_t first, std::int64_t n) const {
    Box part = box;
    part.dims[dim].count = n;
    part.src_offset += first * box.dims[dim].src_stride;
    part.dst_offset += first * box.dims[dim].dst_stride;
    const bool packing = transfer.direction == Direction::pack;
    const Boxes boxes{packing ? part : datatype::reversed(part)};
    return {part.dst_offset, part.dst_offset + n * box.dims[dim].dst_stride, [=, this] {
              queue_boxes(device, context, transfer.plan, boxes, source(transfer.typed, stage.on_device),
                          destination(transfer.typed, stage.on_device));
            }};
  }
};

int outermost_packed_dim(const Box& box) {
  int outermost = 0;
  for (int d = 1; d < box.n_dims; ++d) {
    if (box.dims[d].dst_stride > box.dims[outermost].dst_stride) outermost = d;
  }
  return outermost;
}

// A single loop nest is cut along its outermost packed dimension; others are not cut inside an element.
bool can_slice(const Boxes& boxes) {
  if (boxes.size() != 1 || boxes.front().n_dims == 0) return false;
  const Box& box = boxes.front();
  return !box.table || box.table_dim != outermost_packed_dim(box);
}

std::vector<Chunk> chunks_of(const Job& job) {
  std::vector<Chunk> chunks;
  const pack::Plan& plan = job.transfer.plan;
  const std::int64_t count = job.transfer.repeat.count;
  if (count == 1 && can_slice(plan.layout.boxes)) {
    const Box& box = plan.layout.boxes.front();
    const int dim = outermost_packed_dim(box);
    const std::int64_t step = std::max<std::int64_t>(1, job.stage.chunk_bytes / box.dims[dim].dst_stride);
    for (std::int64_t at = 0; at < box.dims[dim].count; at += step) {
      chunks.push_back(job.slice(box, dim, at, std::min(step, box.dims[dim].count - at)));
    }
    return chunks;
  }
  const std::int64_t step = std::max<std::int64_t>(1, job.stage.chunk_bytes / plan.layout.size);
  for (std::int64_t at = 0; at < count; at += step) chunks.push_back(job.elements(at, std::min(step, count - at)));
  return chunks;
}

}  // namespace

MarkPtr queue_staged(const Transfer& transfer, Context context, const Stage& stage, Device& device) {
  const bool packing = transfer.direction == Direction::pack;
  const Lane first = packing ? Lane::kernels : Lane::copies, second = packing ? Lane::copies : Lane::kernels;
  auto* const pinned = static_cast<std::byte*>(transfer.packed);
  const auto queue_copy = [&](const Chunk& chunk) {
    const auto bytes = static_cast<std::size_t>(chunk.end - chunk.begin);
    packing ? device.copy(pinned + chunk.begin, stage.on_device + chunk.begin, bytes)
            : device.copy(stage.on_device + chunk.begin, pinned + chunk.begin, bytes);
  };
  const Job job{transfer, context, stage, device};
  MarkPtr last;
  for (const Chunk& chunk : chunks_of(job)) {
    MarkPtr fed;
    {
      const Scope scope(device, context, first);
      packing ? chunk.queue_kernel() : queue_copy(chunk);
      fed = device.mark();
    }
    const Scope scope(device, context, second);
    device.wait_for(*fed);
    packing ? queue_copy(chunk) : chunk.queue_kernel();
    last = device.mark();
  }
  return last;
}

}  // namespace tempi::pack
