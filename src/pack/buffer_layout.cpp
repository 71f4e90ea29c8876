#include "pack/buffer_layout.hpp"

#include <algorithm>

#include "pack/plan.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;
using datatype::Boxes;

// The box once for each entry of its table.
void write_out(const Box& box, Boxes& all) {
  const datatype::Dim& dim = box.dims[box.table_dim];
  Box one = box;
  one.table = nullptr;
  std::copy(box.dims.begin() + box.table_dim + 1, box.dims.begin() + box.n_dims, one.dims.begin() + box.table_dim);
  --one.n_dims;
  for (std::int64_t i = 0; i < dim.count; ++i) {
    const std::int64_t entry = box.table->offsets[static_cast<std::size_t>(i)];
    const bool is_src = box.table_side == datatype::Side::src;
    one.src_offset = box.src_offset + (is_src ? entry : i * dim.src_stride);
    one.dst_offset = box.dst_offset + (is_src ? i * dim.dst_stride : entry);
    all.push_back(one);
  }
}

}  // namespace

Boxes written_out(Boxes boxes) {
  std::size_t n = 0;
  for (const Box& box : boxes) n += box.table ? static_cast<std::size_t>(box.dims[box.table_dim].count) : 1;
  if (n == boxes.size() || n > kMostWrittenOut) return boxes;
  Boxes all;
  for (const Box& box : boxes) {
    if (box.table) write_out(box, all);
    else all.push_back(box);
  }
  return all;
}

Boxes BufferLayout::boxes() const {
  const datatype::Layout& one = prepared->plan.layout;
  return written_out(datatype::repeated(one.boxes, count, extent, one.size));
}

}  // namespace tempi::pack
