#include "datatype/cut.hpp"

#include <algorithm>
#include <utility>

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

// Consecutive iterations of a loop without a table.
Box iterations(Box box, int d, std::int64_t first, std::int64_t end) {
  Dim& dim = box.dims[d];
  box.src_offset += first * dim.src_stride;
  box.dst_offset += first * dim.dst_stride;
  dim.count = end - first;
  return box;
}

// A block that begins before the packed bytes, or ends behind them.
Box cut_block(Box block, std::int64_t begin, std::int64_t end) {
  const std::int64_t before = std::max<std::int64_t>(0, begin - block.dst_offset);
  block.block_bytes = std::min(end, block.dst_offset + block.block_bytes) - block.dst_offset - before;
  block.src_offset += before;
  block.dst_offset += before;
  return block;
}

std::int64_t divided_up(std::int64_t number, std::int64_t divisor) { return (number + divisor - 1) / divisor; }

// Finds the boxes of the packed bytes [begin, end).
class Cut {
 public:
  Cut(std::int64_t begin, std::int64_t end) : begin_(begin), end_(end) {}

  // False: there are too many.
  bool add(const Box& box) {
    if (found_.size() >= kMostBoxes) return false;
    if (box.dst_offset >= end_ || packed_end(box) <= begin_) return true;
    if (box.dst_offset >= begin_ && packed_end(box) <= end_) return found_.push_back(box), true;
    if (box.n_dims > 0) return add_iterations(box, outermost(box));
    found_.push_back(cut_block(box, begin_, end_));
    return true;
  }

  Boxes found() && {
    for (Box& box : found_) box.dst_offset -= begin_;
    return std::move(found_);
  }

 private:
  // Iterations that lie within the packed bytes remain one box.
  bool add_iterations(const Box& box, int d) {
    const std::int64_t count = box.dims[d].count, stride = box.dims[d].dst_stride;
    const std::int64_t last = packed_end(iteration(box, d, 0));
    const std::int64_t from = last > begin_ ? 0 : (begin_ - last) / stride + 1;
    const std::int64_t to = std::min(count, divided_up(end_ - box.dst_offset, stride));
    const bool has_table = box.table && box.table_dim == d;
    const std::int64_t whole = std::max<std::int64_t>(from, divided_up(begin_ - box.dst_offset, stride));
    const std::int64_t whole_to = end_ < last || has_table ? whole : std::min(count, (end_ - last) / stride + 1);
    if (whole_to <= whole) return add_each(box, d, from, to);
    if (!add_each(box, d, from, whole)) return false;
    found_.push_back(iterations(box, d, whole, whole_to));
    return add_each(box, d, whole_to, to);
  }

  bool add_each(const Box& box, int d, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      if (!add(iteration(box, d, i))) return false;
    }
    return true;
  }

  const std::int64_t begin_, end_;
  Boxes found_{};
};

}  // namespace

std::optional<Boxes> bytes_between(const Boxes& boxes, std::int64_t begin, std::int64_t end) {
  Cut cut(begin, end);
  const bool is_whole = std::all_of(boxes.begin(), boxes.end(), [&](const Box& box) { return cut.add(box); });
  return is_whole ? std::optional(std::move(cut).found()) : std::nullopt;
}

}  // namespace tempi::datatype
