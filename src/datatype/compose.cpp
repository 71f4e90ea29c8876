#include "datatype/compose.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace tempi::datatype {
namespace {

constexpr std::int64_t kMostBoxes = 1024;

// A loop of a box over packed bytes `step` apart; the innermost one is over the bytes of a block.
struct Loop {
  std::int64_t count;
  std::int64_t step;    // bytes, on the packed side
  std::int64_t stride;  // bytes, in the layout
  TablePtr table = {};  // in place of the stride

  std::int64_t at(std::int64_t i) const { return table ? table->offsets[static_cast<std::size_t>(i)] : i * stride; }
};

// From the innermost, in order of the packed bytes.
std::vector<Loop> loops_of(const Box& box) {
  std::vector<Loop> loops{{box.block_bytes, 1, 1}};
  for (int d = 0; d < box.n_dims; ++d) {
    const Dim& dim = box.dims[d];
    const bool has_table = box.table && box.table_dim == d;
    loops.push_back({dim.count, dim.dst_stride, dim.src_stride, has_table ? box.table : TablePtr{}});
  }
  std::stable_sort(loops.begin() + 1, loops.end(), [](const Loop& a, const Loop& b) { return a.step < b.step; });
  std::erase_if(loops, [](const Loop& loop) { return loop.count == 1 && !loop.table && loop.step != 1; });
  return loops;
}

// Splits the first `count` iterations off a loop; false if that is not possible.
bool split(Loop& loop, std::int64_t count) {
  if (loop.count == count) return true;
  if (loop.table || loop.count % count != 0) return false;
  loop = {loop.count / count, loop.step * count, loop.stride * count};
  return true;
}

struct Shift {
  std::int64_t src, dst;
};

class Composition {
 public:
  Composition(const Box& sent, const Box& received) : sent_(loops_of(sent)), received_(loops_of(received)) {
    box_.src_offset = sent.src_offset;
    box_.dst_offset = received.src_offset;
  }

  // False: there are none.
  bool append_to(Boxes& boxes) {
    while (i_ < sent_.size() && j_ < received_.size()) {
      if (!add_common_loop()) return false;
    }
    if (i_ < sent_.size() || j_ < received_.size()) return false;
    for (const Shift& shift : shifts_) {
      boxes.push_back(box_);
      boxes.back().src_offset += shift.src;
      boxes.back().dst_offset += shift.dst;
    }
    return true;
  }

 private:
  // The iterations that both loops begin with.
  bool add_common_loop() {
    const Loop from = sent_[i_], to = received_[j_];
    const std::int64_t count = std::min(from.count, to.count);
    if (from.step != to.step || !split(sent_[i_], count) || !split(received_[j_], count)) return false;
    if (from.count == count) ++i_;
    if (to.count == count) ++j_;
    return add(count, from, to);
  }

  bool add(std::int64_t count, const Loop& from, const Loop& to) {
    if (box_.block_bytes == 0) return box_.block_bytes = count, true;
    if (count == 1 && !from.table && !to.table) return true;
    const bool has_table = from.table || to.table;
    if (!has_table && merges(count, from, to)) return true;
    if (has_table && (box_.table || (from.table && to.table))) return write_out(count, from, to);
    if (box_.n_dims == kMaxBoxDims) return false;
    if (has_table) {
      box_.table = from.table ? from.table : to.table;
      box_.table_side = from.table ? Side::src : Side::dst;
      box_.table_dim = box_.n_dims;
    }
    box_.dims[box_.n_dims++] = {count, from.table ? 0 : from.stride, to.table ? 0 : to.stride};
    return true;
  }

  // A box has one table: of a second one each entry becomes a box of its own.
  bool write_out(std::int64_t count, const Loop& from, const Loop& to) {
    if (count * static_cast<std::int64_t>(shifts_.size()) > kMostBoxes) return false;
    std::vector<Shift> shifts;
    for (const Shift& shift : shifts_) {
      for (std::int64_t k = 0; k < count; ++k) shifts.push_back({shift.src + from.at(k), shift.dst + to.at(k)});
    }
    shifts_ = std::move(shifts);
    return true;
  }

  // With the loop inside, on both sides.
  bool merges(std::int64_t count, const Loop& from, const Loop& to) {
    if (box_.n_dims == 0) {
      if (from.stride != box_.block_bytes || to.stride != box_.block_bytes) return false;
      box_.block_bytes *= count;
      return true;
    }
    Dim& inner = box_.dims[box_.n_dims - 1];
    if (box_.table && box_.table_dim == box_.n_dims - 1) return false;
    if (from.stride != inner.count * inner.src_stride || to.stride != inner.count * inner.dst_stride) return false;
    inner.count *= count;
    return true;
  }

  std::vector<Loop> sent_, received_;
  std::size_t i_ = 0, j_ = 0;
  Box box_;
  std::vector<Shift> shifts_{{0, 0}};  // of the box's copies
};

// Boxes by their first packed byte.
class Queue {
 public:
  explicit Queue(const Boxes& boxes) {
    for (const Box& box : boxes) boxes_.emplace(box.dst_offset, box);
  }
  bool empty() const { return boxes_.empty(); }
  const Box& first() const { return boxes_.begin()->second; }
  void pop() { boxes_.erase(boxes_.begin()); }

  // The first box becomes two, the first of so many bytes. If neither its block nor the loop that is outermost in the
  // packed bytes can be cut there, it becomes one for each iteration of this loop. False: it cannot be cut.
  bool cut(std::int64_t bytes) {
    const Box whole = first();
    const auto* const end = whole.dims.begin() + whole.n_dims;
    const auto* const outer = std::max_element(whole.dims.begin(), end,
                                               [](const Dim& a, const Dim& b) { return a.dst_stride < b.dst_stride; });
    if (outer == end) return 0 < bytes && bytes < whole.block_bytes && cut_block(bytes);
    if (whole.table) return false;
    const std::int64_t iteration_bytes = whole.payload_bytes() / outer->count;
    if (bytes > 0 && bytes % iteration_bytes == 0) return cut_loop(outer - whole.dims.begin(), bytes / iteration_bytes);
    if (outer->count > kMostBoxes) return false;
    pop();
    for (std::int64_t i = 0; i < outer->count; ++i) {
      const Box one = iteration(whole, outer - whole.dims.begin(), i);
      boxes_.emplace(one.dst_offset, one);
    }
    return static_cast<std::int64_t>(boxes_.size()) <= kMostBoxes;
  }

 private:
  bool cut_block(std::int64_t bytes) {
    Box first = boxes_.begin()->second, second = first;
    pop();
    first.block_bytes = bytes;
    second.block_bytes -= bytes;
    second.src_offset += bytes;
    second.dst_offset += bytes;
    boxes_.emplace(first.dst_offset, first);
    boxes_.emplace(second.dst_offset, second);
    return true;
  }

  bool cut_loop(std::ptrdiff_t d, std::int64_t count) {
    Box first = boxes_.begin()->second, second = first;
    pop();
    Dim& dim = first.dims[static_cast<std::size_t>(d)];
    second.dims[static_cast<std::size_t>(d)].count -= count;
    second.src_offset += count * dim.src_stride;
    second.dst_offset += count * dim.dst_stride;
    dim.count = count;
    boxes_.emplace(first.dst_offset, first);
    boxes_.emplace(second.dst_offset, second);
    return true;
  }

  static Box iteration(const Box& whole, std::ptrdiff_t d, std::int64_t i) {
    Box one = whole;
    const Dim dim = whole.dims[static_cast<std::size_t>(d)];
    std::copy(whole.dims.begin() + d + 1, whole.dims.begin() + whole.n_dims, one.dims.begin() + d);
    --one.n_dims;
    one.src_offset += i * dim.src_stride;
    one.dst_offset += i * dim.dst_stride;
    return one;
  }

  std::map<std::int64_t, Box> boxes_;
};

// Both lists begin with the same packed byte: their first boxes compose, or one is cut. False: they cannot.
bool step(Queue& sent, Queue& received, Boxes& boxes) {
  const std::int64_t n_sent = sent.first().payload_bytes(), n_received = received.first().payload_bytes();
  if (n_sent > n_received) return sent.cut(n_received);
  if (n_sent < n_received) return received.cut(n_sent);
  if (!Composition(sent.first(), received.first()).append_to(boxes)) return sent.cut(0) || received.cut(0);
  sent.pop();
  received.pop();
  return static_cast<std::int64_t>(boxes.size()) <= kMostBoxes;
}

}  // namespace

std::optional<Boxes> composed(const Boxes& all_sent, const Boxes& all_received) {
  Queue sent(all_sent), received(all_received);
  Boxes boxes;
  while (!sent.empty() && !received.empty()) {
    if (sent.first().dst_offset != received.first().dst_offset || !step(sent, received, boxes)) return {};
  }
  if (!sent.empty() || !received.empty()) return {};
  return boxes;
}

}  // namespace tempi::datatype
