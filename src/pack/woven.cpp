#include "pack/woven.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "pack/kernel_box.hpp"

namespace tempi::pack {
namespace {

constexpr std::int64_t kFetchBytes = 64;  // what memory fetches at a time

// A loop that runs once, over a single word, has the divisor of 2: no loop may follow it.
bool can_be_woven(const KernelBox& box) {
  return box.table_side == TableSide::none && box.n_dims < kMaxKernelDims && box.n_words > 1 &&
         box.n_words <= kMaxWords / 2;
}

// The same distances along all loops, from source to source and from source to destination.
bool have_same_loops(const KernelBox& one, const KernelBox& other) {
  const auto is_same = [](const KernelDim& a, const KernelDim& b) {
    return a.count == b.count && a.src_stride == b.src_stride && a.dst_stride == b.dst_stride &&
           a.src_stride == a.dst_stride;
  };
  return one.word_bytes == other.word_bytes && one.n_words == other.n_words && one.n_dims == other.n_dims &&
         std::equal(one.dims, one.dims + one.n_dims, other.dims, is_same);
}

struct Strides {
  std::int64_t src, dst;
};
Strides between(const KernelBox& one, const KernelBox& other) {
  return {other.src_offset - one.src_offset, other.dst_offset - one.dst_offset};
}

// The place of a loop over the two, in the order by destination (kernel_box.cpp).
int place_of_loop(const KernelBox& box, Strides strides) {
  const auto is_outer = [&](const KernelDim& dim) { return std::abs(dim.dst_stride) > std::abs(strides.dst); };
  return static_cast<int>(std::find_if(box.dims, box.dims + box.n_dims, is_outer) - box.dims);
}

// As the outermost loop it would move one box behind the other.
bool take_turns(const KernelBox& one, const KernelBox& other) {
  return place_of_loop(one, between(one, other)) < one.n_dims;
}

KernelBox woven_pair(KernelBox box, const KernelBox& other) {
  const Strides strides = between(box, other);
  const int at = place_of_loop(box, strides);
  std::copy_backward(box.dims + at, box.dims + box.n_dims, box.dims + box.n_dims + 1);
  std::copy_backward(box.shifts + at, box.shifts + box.n_dims, box.shifts + box.n_dims + 1);
  const Divisor divisor = divisor_of(2);
  box.dims[at] = {strides.src, strides.dst, 2, divisor.magic};
  box.shifts[at] = divisor.shift;
  ++box.n_dims;
  box.n_words *= 2;
  return box;
}

// Pairs of boxes: a writer, and the reader of the memory around it.
class Pairing {
 public:
  explicit Pairing(const std::vector<KernelBox>& boxes)
      : boxes_(boxes), is_taken_(boxes.size()), by_source_(boxes.size()) {
    std::iota(by_source_.begin(), by_source_.end(), std::size_t{0});
    std::sort(by_source_.begin(), by_source_.end(),
              [&](std::size_t a, std::size_t b) { return boxes[a].src_offset < boxes[b].src_offset; });
  }

  std::optional<std::size_t> take_reader(std::size_t writer) {
    const KernelBox& box = boxes_[writer];
    if (is_taken_[writer] || !can_be_woven(box)) return {};
    const auto is_before = [&](std::size_t reader, std::int64_t address) {
      return boxes_[reader].src_offset < address;
    };
    const std::int64_t first = box.dst_offset - kFetchBytes + 1, end = box.dst_offset + kFetchBytes;
    auto at = std::lower_bound(by_source_.begin(), by_source_.end(), first, is_before);
    for (; at != by_source_.end() && boxes_[*at].src_offset < end; ++at) {
      if (*at == writer || is_taken_[*at] || !can_be_woven(boxes_[*at])) continue;
      if (!have_same_loops(box, boxes_[*at]) || !take_turns(box, boxes_[*at])) continue;
      is_taken_[writer] = is_taken_[*at] = true;
      return *at;
    }
    return {};
  }
  bool is_taken(std::size_t box) const { return is_taken_[box]; }

 private:
  const std::vector<KernelBox>& boxes_;
  std::vector<bool> is_taken_;
  std::vector<std::size_t> by_source_;
};

}  // namespace

std::vector<KernelBox> woven(const std::vector<KernelBox>& boxes) {
  Pairing pairing(boxes);
  std::vector<KernelBox> all;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (const auto reader = pairing.take_reader(i)) all.push_back(woven_pair(boxes[i], boxes[*reader]));
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!pairing.is_taken(i)) all.push_back(boxes[i]);
  }
  return all;
}

}  // namespace tempi::pack
