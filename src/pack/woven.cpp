#include "pack/woven.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "pack/kernel_box.hpp"

namespace tempi::pack {
namespace {

constexpr std::int64_t kLine = 64;  // bytes that memory fetches at a time

// The loop of a single word has no divisor.
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

// The loop over the two goes where the order by destination has it.
KernelBox woven(KernelBox box, const KernelBox& other) {
  const std::int64_t src_stride = other.src_offset - box.src_offset, dst_stride = other.dst_offset - box.dst_offset;
  KernelDim* const end = box.dims + box.n_dims;
  KernelDim* const at = std::find_if(
      box.dims, end, [&](const KernelDim& dim) { return std::abs(dim.dst_stride) > std::abs(dst_stride); });
  std::copy_backward(at, end, end + 1);
  std::copy_backward(box.shifts + (at - box.dims), box.shifts + box.n_dims, box.shifts + box.n_dims + 1);
  const Divisor divisor = divisor_of(2);
  *at = {src_stride, dst_stride, 2, divisor.magic};
  box.shifts[at - box.dims] = divisor.shift;
  ++box.n_dims;
  box.n_words *= 2;
  return box;
}

// Of each box the one that reads where it writes.
class Meetings {
 public:
  explicit Meetings(const std::vector<KernelBox>& boxes)
      : boxes_(boxes), is_taken_(boxes.size()), by_source_(boxes.size()) {
    std::iota(by_source_.begin(), by_source_.end(), std::size_t{0});
    std::sort(by_source_.begin(), by_source_.end(),
              [&](std::size_t a, std::size_t b) { return boxes[a].src_offset < boxes[b].src_offset; });
  }

  std::optional<std::size_t> take(std::size_t writer) {
    const KernelBox& box = boxes_[writer];
    if (is_taken_[writer] || !can_be_woven(box)) return {};
    auto at =
        std::lower_bound(by_source_.begin(), by_source_.end(), box.dst_offset - kLine + 1,
                         [&](std::size_t reader, std::int64_t address) { return boxes_[reader].src_offset < address; });
    for (; at != by_source_.end() && boxes_[*at].src_offset < box.dst_offset + kLine; ++at) {
      if (*at == writer || is_taken_[*at] || !can_be_woven(boxes_[*at]) || !have_same_loops(box, boxes_[*at])) continue;
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

std::vector<KernelBox> woven(std::vector<KernelBox> boxes) {
  Meetings meetings(boxes);
  std::vector<KernelBox> all;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (const auto reader = meetings.take(i)) all.push_back(woven(boxes[i], boxes[*reader]));
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!meetings.is_taken(i)) all.push_back(boxes[i]);
  }
  return all;
}

}  // namespace tempi::pack
