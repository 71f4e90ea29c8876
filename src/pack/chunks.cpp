#include "pack/chunks.hpp"

#include <algorithm>
#include <numeric>

#include "pack/mover.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;
using datatype::Boxes;
using device::Scope;

// A move of whole elements.
BoxMove elements_of(const BoxMove& whole, std::int64_t first, std::int64_t n) {
  BoxMove part = whole;
  part.count = n;
  part.source.address = whole.source.at(first * whole.source.extent);
  part.destination.address = whole.destination.at(first * whole.destination.extent);
  return part;
}

// The outermost dimension at the dense end that has more than one position; negative: none.
int outermost_dense_dim(const Box& box) {
  int outermost = -1;
  for (int d = 0; d < box.n_dims; ++d) {
    if (box.dims[d].count > 1 && (outermost < 0 || box.dims[d].dst_stride > box.dims[outermost].dst_stride)) {
      outermost = d;
    }
  }
  return outermost;
}

// Positions [first, first + n) of a dimension.
Box positions_of(const Box& box, int dim, std::int64_t first, std::int64_t n) {
  Box part = box;
  part.dims[dim].count = n;
  part.src_offset += first * box.dims[dim].src_stride;
  part.dst_offset += first * box.dims[dim].dst_stride;
  return part;
}

// Bytes [first, first + n) of a block.
Box bytes_of(const Box& box, std::int64_t first, std::int64_t n) {
  Box part = box;
  part.block_bytes = n;
  part.src_offset += first;
  part.dst_offset += first;
  return part;
}

class Cutter {
 public:
  Cutter(const BoxMove& whole, ChunkBytes bytes_from, std::int64_t granule)
      : whole_(whole), bytes_from_(bytes_from), granule_(granule) {}

  std::vector<Chunk> cut() && {
    const Boxes& written = whole_.mapping->written();
    const std::int64_t size = whole_.dense().extent;
    if (whole_.count > 0 && is_plain_copy(written) && whole_.laid_out().extent == size) {
      cut_box(whole_, 0, datatype::repeated(written.front(), whole_.count, size, size));
      return std::move(chunks_);
    }
    in_groups(0, whole_.count, size, [&](std::int64_t first, std::int64_t n) {
      const std::int64_t begin = first * size;
      BoxMove part = elements_of(whole_, first, n);
      // Only a single loop nest is cut inside an element.
      if (n == 1 && written.size() == 1 && size > wanted(begin)) cut_box(part, begin, written.front());
      else chunks_.push_back({begin, begin + n * size, std::move(part)});
    });
    return std::move(chunks_);
  }

 private:
  std::int64_t wanted(std::int64_t at) const { return std::max<std::int64_t>(bytes_from_(at), 1); }

  // Calls fn(first, n) for groups of units; the first of them begins at the packed byte `begin`. A unit stays whole.
  template <class Fn>
  void in_groups(std::int64_t begin, std::int64_t n_units, std::int64_t unit_bytes, const Fn& fn) const {
    const std::int64_t step = granule_ / std::gcd(granule_, unit_bytes);
    for (std::int64_t at = 0, n = 0; at < n_units; at += n) {
      const std::int64_t wished = wanted(begin + at * unit_bytes) / unit_bytes;
      n = std::min(std::max(wished / step, std::int64_t{1}) * step, n_units - at);
      fn(at, n);
    }
  }

  // A box of one element, whose packed bytes begin at `origin`.
  void cut_box(const BoxMove& element, std::int64_t origin, const Box& box) {
    const std::int64_t begin = origin + box.dst_offset;
    const int dim = outermost_dense_dim(box);
    const bool is_small = box.payload_bytes() <= wanted(begin);
    if (is_small || (dim >= 0 && box.table && box.table_dim == dim)) return add(element, origin, box);
    if (dim < 0) {
      return in_groups(begin, box.block_bytes, 1,
                       [&](auto first, auto n) { add(element, origin, bytes_of(box, first, n)); });
    }
    const std::int64_t unit_bytes = box.dims[dim].dst_stride;
    in_groups(begin, box.dims[dim].count, unit_bytes, [&](std::int64_t first, std::int64_t n) {
      const Box part = positions_of(box, dim, first, n);
      if (n == 1 && unit_bytes > wanted(origin + part.dst_offset)) cut_box(element, origin, part);
      else add(element, origin, part);
    });
  }

  void add(const BoxMove& element, std::int64_t origin, const Box& box) {
    const std::int64_t begin = origin + box.dst_offset;
    chunks_.push_back({begin, begin + box.payload_bytes(), element, {box}, box.dst_offset});
  }

  const BoxMove& whole_;
  const ChunkBytes bytes_from_;
  const std::int64_t granule_;
  std::vector<Chunk> chunks_{};
};

}  // namespace

void Chunk::queue_kernel(const Scope& here) const {
  if (boxes.empty()) queue(here, box_move);
  else queue_boxes(here, box_move, box_move.mapping->oriented(boxes));
}

Chunk Chunk::with_dense_at(void* address) const {
  Chunk moved = *this;
  End& dense = moved.box_move.dense();
  dense.address = address;
  dense.address = dense.at(-skipped);
  return moved;
}

std::vector<Chunk> chunks_of(const BoxMove& whole, ChunkBytes bytes_from, std::int64_t granule) {
  return Cutter(whole, bytes_from, granule).cut();
}

}  // namespace tempi::pack
