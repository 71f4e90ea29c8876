// A transfer is a list of boxes. A box is a loop nest over one dense block of bytes, with two strides a dimension.
//
// Example: packing Strided{3, 16, Dense{8}} (see tree.hpp) is one box
//   src_offset 0, dst_offset 0, block_bytes 8, dims { {count 3, src_stride 16, dst_stride 8} }
//
// Boxes are written for packing: "src" is the datatype's side, "dst" the packed side. reversed() gives unpacking.
// dims[0] is the innermost loop. Any order of the dims moves the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

namespace tempi::datatype {

inline constexpr int kMaxBoxDims = 5;  // 4 from the datatype, 1 for the count argument

struct Dim {
  std::int64_t count;
  std::int64_t src_stride;  // bytes
  std::int64_t dst_stride;  // bytes
};

// Positions [first, first + count) of an irregular dimension whose blocks follow each other without a gap.
struct Run {
  std::int64_t first, count;
  std::int64_t offset;  // of the first position
};

// The irregular dimension of a box: position i of it lies at offsets[i] instead of i * stride.
struct OffsetTable {
  std::vector<std::int64_t> offsets;  // bytes
  std::int64_t unit = 1;              // greatest common divisor of all offsets (a power of two up to 16)
  std::int64_t lowest = 0, highest = 0;
  std::vector<Run> runs{};  // all positions in order; empty if most runs are short
};
using TablePtr = std::shared_ptr<const OffsetTable>;

enum class Side : std::uint8_t { src, dst };

struct Box {
  std::int64_t src_offset = 0;   // bytes, relative to the source buffer
  std::int64_t dst_offset = 0;   // bytes, relative to the destination buffer
  std::int64_t block_bytes = 0;  // > 0
  int n_dims = 0;
  std::array<Dim, kMaxBoxDims> dims{};
  TablePtr table;     // null for a regular box
  int table_dim = 0;  // the dim whose stride the table replaces
  Side table_side = Side::src;

  std::int64_t payload_bytes() const {
    std::int64_t bytes = block_bytes;
    for (int d = 0; d < n_dims; ++d) bytes *= dims[d].count;
    return bytes;
  }
};

using Boxes = std::vector<Box>;

inline Box reversed(Box box) {
  std::swap(box.src_offset, box.dst_offset);
  for (int d = 0; d < box.n_dims; ++d) std::swap(box.dims[d].src_stride, box.dims[d].dst_stride);
  box.table_side = box.table_side == Side::src ? Side::dst : Side::src;
  return box;
}

// From the first byte that is touched to one past the last, gaps included.
struct Span {
  std::int64_t begin, end;
  std::int64_t bytes() const { return end - begin; }
};
Span span_of(const Box& box);           // of the source, relative to its buffer
Span span_of(const Box& box, int dim);  // of the source offsets that one dim produces

}  // namespace tempi::datatype
