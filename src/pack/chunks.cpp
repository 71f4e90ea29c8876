#include "pack/chunks.hpp"

#include <algorithm>

#include "pack/mover.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;
using datatype::Boxes;
using device::Scope;

// A move of whole elements.
Chunk elements(const BoxMove& whole, std::int64_t first, std::int64_t n) {
  BoxMove part = whole;
  part.count = n;
  part.source.address = whole.source.at(first * whole.source.extent);
  part.destination.address = whole.destination.at(first * whole.destination.extent);
  const std::int64_t size = whole.dense().extent;
  return {first * size, (first + n) * size, [part](const Scope& here) { queue(here, part); }};
}

// Positions [first, first + n) of a dimension that is outermost at the dense end.
Chunk slice(const BoxMove& whole, const Box& box, int dim, std::int64_t first, std::int64_t n) {
  Box part = box;
  part.dims[dim].count = n;
  part.src_offset += first * box.dims[dim].src_stride;
  part.dst_offset += first * box.dims[dim].dst_stride;
  return {
      part.dst_offset, part.dst_offset + n * box.dims[dim].dst_stride,
      [whole, boxes = Boxes{whole.mapping->oriented(part)}](const Scope& here) { queue_boxes(here, whole, boxes); }};
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

}  // namespace

std::vector<Chunk> chunks_of(const BoxMove& whole, ChunkBytes bytes_from) {
  std::vector<Chunk> chunks;
  // A unit stays whole.
  const auto cut = [&](std::int64_t n_units, std::int64_t unit_bytes, const auto& chunk) {
    for (std::int64_t at = 0, n = 0; at < n_units; at += n) {
      n = std::clamp<std::int64_t>(bytes_from(at * unit_bytes) / unit_bytes, 1, n_units - at);
      chunks.push_back(chunk(at, n));
    }
  };
  const Boxes& written = whole.mapping->written();
  if (whole.count == 1 && can_slice(written)) {
    const Box& box = written.front();
    const int dim = outermost_dense_dim(box);
    cut(box.dims[dim].count, box.dims[dim].dst_stride, [&](auto at, auto n) { return slice(whole, box, dim, at, n); });
  } else {
    cut(whole.count, whole.dense().extent, [&](auto at, auto n) { return elements(whole, at, n); });
  }
  return chunks;
}

}  // namespace tempi::pack
