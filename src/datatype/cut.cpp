#include "datatype/cut.hpp"

#include <algorithm>

namespace tempi::datatype {
namespace {

constexpr std::size_t kMostBoxes = 1024;

std::int64_t packed_end(const Box& box) {
  std::int64_t end = box.dst_offset + box.block_bytes;
  for (int d = 0; d < box.n_dims; ++d) end += (box.dims[d].count - 1) * box.dims[d].dst_stride;
  return end;
}

// The loop that is outermost in the packed bytes.
int outermost(const Box& box) {
  const auto* const begin = box.dims.begin();
  const auto* const found = std::max_element(begin, begin + box.n_dims,
                                             [](const Dim& a, const Dim& b) { return a.dst_stride < b.dst_stride; });
  return static_cast<int>(found - begin);
}

// One iteration of a loop.
Box iteration(const Box& box, int d, std::int64_t i) {
  Box one = box;
  const Dim dim = box.dims[d];
  const bool is_of_table = box.table && box.table_dim == d;
  std::copy(box.dims.begin() + d + 1, box.dims.begin() + box.n_dims, one.dims.begin() + d);
  --one.n_dims;
  one.src_offset += is_of_table ? box.table->offsets[static_cast<std::size_t>(i)] : i * dim.src_stride;
  one.dst_offset += i * dim.dst_stride;
  if (is_of_table) one.table = nullptr;
  else if (box.table_dim > d) --one.table_dim;
  return one;
}

// The first iterations of a loop.
Box first_iterations(Box box, int d, std::int64_t n) {
  box.dims[d].count = n;
  return box;
}

// False: there are too many.
bool add_first_bytes(const Box& box, std::int64_t bytes, Boxes& found) {
  if (found.size() >= kMostBoxes) return false;
  if (box.dst_offset >= bytes) return true;
  if (packed_end(box) <= bytes) return found.push_back(box), true;
  if (box.n_dims == 0) {
    found.push_back(box);
    found.back().block_bytes = bytes - box.dst_offset;
    return true;
  }
  const int d = outermost(box);
  const std::int64_t count = box.dims[d].count, stride = box.dims[d].dst_stride;
  std::int64_t begin = 0;
  if (!box.table || box.table_dim != d) {
    const std::int64_t rest = bytes - packed_end(iteration(box, d, 0));
    begin = rest >= 0 ? std::min(count, rest / stride + 1) : 0;
    if (begin > 0) found.push_back(first_iterations(box, d, begin));
  }
  for (std::int64_t i = begin; i < count && box.dst_offset + i * stride < bytes; ++i) {
    if (!add_first_bytes(iteration(box, d, i), bytes, found)) return false;
  }
  return true;
}

}  // namespace

std::optional<Boxes> first_bytes(const Boxes& boxes, std::int64_t bytes) {
  Boxes found;
  for (const Box& box : boxes) {
    if (!add_first_bytes(box, bytes, found)) return {};
  }
  return found;
}

}  // namespace tempi::datatype
