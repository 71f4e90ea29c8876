#include "datatype/layout.hpp"

#include <algorithm>
#include <numeric>

namespace tempi::datatype {
namespace {

constexpr int kMaxLayoutDims = kMaxBoxDims - 1;  // the count argument takes the last one

// The greatest common divisor of powers of two is the lowest bit of any.
std::int64_t unit_of(const std::vector<std::int64_t>& offsets) {
  constexpr std::int64_t kWidest = 16;
  std::int64_t bits = kWidest;
  for (const std::int64_t offset : offsets) bits |= offset;
  return bits & -bits;
}

TablePtr make_table(std::vector<std::int64_t> offsets, std::vector<Run> runs = {}) {
  OffsetTable table{.offsets = std::move(offsets), .runs = std::move(runs)};
  table.unit = unit_of(table.offsets);
  const auto [lowest, highest] = std::minmax_element(table.offsets.begin(), table.offsets.end());
  table.lowest = *lowest;
  table.highest = *highest;
  return std::make_shared<const OffsetTable>(std::move(table));
}

std::int64_t source_offset(const Box& box, int dim, std::int64_t index) {
  if (box.table && box.table_dim == dim) return box.table->offsets[static_cast<std::size_t>(index)];
  return index * box.dims[dim].src_stride;
}

// The host packer copies runs instead of the equal chunks made for the GPU, if the runs are long enough to be worth a
// copy of variable length each.
std::vector<Run> runs_of(const std::vector<std::int64_t>& offsets, std::int64_t chunk) {
  constexpr std::size_t kLeastChunksPerRun = 4;  // on average
  std::vector<Run> runs;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const bool joins = i > 0 && offsets[i] == offsets[i - 1] + chunk;
    if (!joins) runs.push_back({static_cast<std::int64_t>(i), 0, offsets[i]});
    ++runs.back().count;
  }
  if (runs.size() * kLeastChunksPerRun > offsets.size()) runs.clear();
  return runs;
}

// Folds dims d and d+1 into one irregular dim. If there is a table, it belongs to one of them.
void fold_into_table(Box& box, int d) {
  const Dim inner = box.dims[d], outer = box.dims[d + 1];
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(inner.count * outer.count));
  for (std::int64_t j = 0; j < outer.count; ++j) {
    for (std::int64_t i = 0; i < inner.count; ++i) {
      offsets.push_back(source_offset(box, d + 1, j) + source_offset(box, d, i));
    }
  }
  box.dims[d] = {inner.count * outer.count, 0, inner.dst_stride};
  std::copy(box.dims.begin() + d + 2, box.dims.begin() + box.n_dims, box.dims.begin() + d + 1);
  --box.n_dims;
  box.table = make_table(std::move(offsets));
  box.table_dim = d;
}

// Dims d and d+1 can be folded if they are dense on the packed side and leave at most one table.
bool can_fold(const Box& box, int d) {
  const bool dense = box.dims[d].count * box.dims[d].dst_stride == box.dims[d + 1].dst_stride;
  return dense && (!box.table || box.table_dim == d || box.table_dim == d + 1);
}

// Makes room for one more dim, at the price of the smallest table. False if no two dims can be folded.
bool make_room(Box& box) {
  if (box.n_dims < kMaxLayoutDims) return true;
  const auto entries = [&](int d) { return box.dims[d].count * box.dims[d + 1].count; };
  int best = -1;
  for (int d = 0; d + 1 < box.n_dims; ++d) {
    if (can_fold(box, d) && (best < 0 || entries(d) < entries(best))) best = d;
  }
  if (best >= 0) fold_into_table(box, best);
  return best >= 0;
}

// One more outermost loop around a box; written out if the box has no room for it.
void append_loop(Box box, Dim dim, Boxes& out) {
  if (make_room(box)) {
    box.dims[box.n_dims++] = dim;
    out.push_back(std::move(box));
    return;
  }
  for (std::int64_t i = 0; i < dim.count; ++i) {
    out.push_back(box);
    box.src_offset += dim.src_stride;
    box.dst_offset += dim.dst_stride;
  }
}

// Calls fn(source offset, destination offset) for every block of a packing box, in type-map order.
template <class Fn>
void for_each_block(const Box& box, const Fn& fn) {
  std::array<std::int64_t, kMaxBoxDims> index{};
  for (;;) {
    std::int64_t src = box.src_offset, dst = box.dst_offset;
    for (int d = 0; d < box.n_dims; ++d) {
      src += source_offset(box, d, index[d]);
      dst += index[d] * box.dims[d].dst_stride;
    }
    fn(src, dst);
    int d = 0;
    while (d < box.n_dims && ++index[d] == box.dims[d].count) index[d++] = 0;
    if (d == box.n_dims) return;
  }
}

// The longest chunk that divides all blocks of all boxes.
std::int64_t common_chunk(const Boxes& boxes) {
  std::int64_t chunk = 0;
  for (const Box& box : boxes) chunk = std::gcd(chunk, box.block_bytes);
  return chunk;
}

// A few boxes stay boxes unless they are tiny; each of many boxes costs more than a table of so many chunks.
bool table_is_better(std::int64_t n_boxes, std::int64_t size, std::int64_t chunk) {
  constexpr std::int64_t kFew = 8, kTinyBoxBytes = 64, kChunksPerBox = 128;
  if (n_boxes <= kFew) return n_boxes > 1 && size < kTinyBoxBytes * n_boxes;
  return size / chunk <= kChunksPerBox * n_boxes;
}

// `offsets` of equal chunks, in packed order.
Box table_box(std::vector<std::int64_t> offsets, std::int64_t chunk) {
  Box box;
  box.block_bytes = chunk;
  box.n_dims = 1;
  box.dims[0] = {static_cast<std::int64_t>(offsets.size()), 0, chunk};
  std::vector<Run> runs = runs_of(offsets, chunk);
  box.table = make_table(std::move(offsets), std::move(runs));
  return box;
}

// Boxes that together are dense on the packed side as one table of equal chunks.
Box flattened(const Boxes& boxes) {
  const std::int64_t chunk = common_chunk(boxes);
  const std::int64_t begin = boxes.front().dst_offset;
  std::int64_t bytes = 0;
  for (const Box& box : boxes) bytes += box.payload_bytes();
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(bytes / chunk));
  for (const Box& box : boxes) {  // boxes of one loop interleave on the packed side
    for_each_block(box, [&](std::int64_t src, std::int64_t dst) {
      for (std::int64_t at = 0; at < box.block_bytes; at += chunk) {
        offsets[static_cast<std::size_t>((dst - begin + at) / chunk)] = src + at;
      }
    });
  }
  Box box = table_box(std::move(offsets), chunk);
  box.dst_offset = begin;
  return box;
}

// A list of dense pieces needs no boxes on the way to its table: it may have millions of pieces.
bool all_dense(const std::vector<Piece>& pieces) {
  return std::all_of(pieces.begin(), pieces.end(), [](const Piece& p) { return p.tree->kind == Tree::Kind::dense; });
}

Boxes table_of_dense_pieces(const Tree& tree) {
  std::int64_t chunk = 0;
  for (const Piece& piece : tree.pieces) chunk = std::gcd(chunk, piece.tree->size);
  if (!table_is_better(static_cast<std::int64_t>(tree.pieces.size()), tree.size, chunk)) return {};
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(tree.size / chunk));
  for (const Piece& piece : tree.pieces) {
    for (std::int64_t at = 0; at < piece.tree->size; at += chunk) offsets.push_back(piece.offset + at);
  }
  return {table_box(std::move(offsets), chunk)};
}

Boxes boxes_of(const Tree& tree);

Boxes boxes_of_strided(const Tree& tree) {
  Boxes boxes;
  for (Box& box : boxes_of(*tree.child)) {
    append_loop(std::move(box), {tree.count, tree.stride, tree.child->size}, boxes);
  }
  return boxes;
}

bool share_one_tree(const std::vector<Piece>& pieces) {
  return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& p) { return same(p.tree, pieces.front().tree); });
}

Boxes boxes_of_equal_pieces(const Tree& tree, Box box) {
  std::vector<std::int64_t> offsets;
  offsets.reserve(tree.pieces.size());
  for (const Piece& piece : tree.pieces) offsets.push_back(piece.offset);
  box.table_dim = box.n_dims;
  box.dims[box.n_dims++] = {static_cast<std::int64_t>(offsets.size()), 0, tree.pieces.front().tree->size};
  box.table = make_table(std::move(offsets));
  return {box};
}

Boxes boxes_of_list(const Tree& tree) {
  if (tree.pieces.size() > 1 && share_one_tree(tree.pieces)) {
    const Boxes child = boxes_of(*tree.pieces.front().tree);
    if (child.size() == 1 && !child.front().table && child.front().n_dims < kMaxLayoutDims) {
      return boxes_of_equal_pieces(tree, child.front());
    }
  }
  if (all_dense(tree.pieces)) {
    if (Boxes table = table_of_dense_pieces(tree); !table.empty()) return table;
  }
  Boxes boxes;
  std::int64_t packed = 0;
  for (const Piece& piece : tree.pieces) {
    for (Box box : boxes_of(*piece.tree)) {
      box.src_offset += piece.offset;
      box.dst_offset += packed;
      boxes.push_back(std::move(box));
    }
    packed += piece.tree->size;
  }
  if (table_is_better(static_cast<std::int64_t>(boxes.size()), tree.size, common_chunk(boxes))) {
    return {flattened(boxes)};
  }
  return boxes;
}

Boxes boxes_of(const Tree& tree) {
  if (tree.size == 0) return {};
  switch (tree.kind) {
    case Tree::Kind::dense: {
      Box box;
      box.block_bytes = tree.size;
      return {box};
    }
    case Tree::Kind::strided: return boxes_of_strided(tree);
    case Tree::Kind::blocks: return boxes_of_list(tree);
  }
  return {};
}

struct Bounds {
  std::int64_t lower, upper;
};

Bounds bounds_of(const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::dense: return {0, tree.size};
    case Tree::Kind::strided: {
      const Bounds child = bounds_of(*tree.child);
      const std::int64_t last = (tree.count - 1) * tree.stride;
      return {child.lower + std::min<std::int64_t>(0, last), child.upper + std::max<std::int64_t>(0, last)};
    }
    case Tree::Kind::blocks: break;
  }
  Bounds all{INT64_MAX, INT64_MIN};
  const Tree* previous = nullptr;
  Bounds child{};
  for (const Piece& piece : tree.pieces) {
    if (piece.tree.get() != previous) child = bounds_of(*piece.tree);
    previous = piece.tree.get();
    all = {std::min(all.lower, child.lower + piece.offset), std::max(all.upper, child.upper + piece.offset)};
  }
  return all;
}

}  // namespace

Layout layout(const Tree& canonical) {
  Layout result;
  result.size = canonical.size;
  if (canonical.size == 0) return result;
  result.boxes = boxes_of(canonical);
  const Bounds bounds = bounds_of(canonical);
  result.true_lower_bound = bounds.lower;
  result.true_upper_bound = bounds.upper;
  return result;
}

Box repeated(Box box, std::int64_t count, std::int64_t extent, std::int64_t size) {
  if (count == 1) return box;
  Dim* top = box.n_dims > 0 ? &box.dims[box.n_dims - 1] : nullptr;
  const bool regular_top = top && !(box.table && box.table_dim == box.n_dims - 1);
  if (!top && box.block_bytes == extent && extent == size) {
    box.block_bytes *= count;
  } else if (regular_top && top->count * top->src_stride == extent && top->count * top->dst_stride == size) {
    top->count *= count;
  } else {
    box.dims[box.n_dims++] = {count, extent, size};
  }
  return box;
}

Boxes repeated(const Boxes& boxes, std::int64_t count, std::int64_t extent, std::int64_t size) {
  Boxes all;
  if (count == 0) return all;
  all.reserve(boxes.size());
  for (const Box& box : boxes) all.push_back(repeated(box, count, extent, size));
  return all;
}

}  // namespace tempi::datatype
