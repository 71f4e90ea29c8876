// The walk over a box list: boxes that share their outermost dim go through it together, in strips that stay in the
// cache; of every box, the two innermost dims are Rows and an odometer runs over the others.
#include "host/packer.hpp"

#include <algorithm>
#include <cstdlib>

#include "host/copy.hpp"
#include "host/rows.hpp"

namespace tempi::host {
namespace {

using datatype::Box;
using datatype::Boxes;
using datatype::Dim;
using datatype::kMaxBoxDims;
using datatype::Side;

// A strip reaches over this much memory on its wider side: both sides stay in the first-level cache.
constexpr std::int64_t kStripBytes = 16 << 10;

// A part of a box: iterations [first, first + count) of its outermost dim. All of them where that dim is irregular.
struct Strip {
  std::int64_t first, count;
  bool streaming;  // see Rows
};

bool is_table_dim(const Box& box, int d) { return box.table && box.table_dim == d; }

std::int64_t src_step(const Box& box, int d, std::int64_t i) {
  if (is_table_dim(box, d) && box.table_side == Side::src) return box.table->offsets[static_cast<std::size_t>(i)];
  return i * box.dims[d].src_stride;
}

std::int64_t dst_step(const Box& box, int d, std::int64_t i) {
  if (is_table_dim(box, d) && box.table_side == Side::dst) return box.table->offsets[static_cast<std::size_t>(i)];
  return i * box.dims[d].dst_stride;
}

Dim dim_of_strip(const Box& box, int d, Strip strip) {
  Dim dim = box.dims[d];
  if (d == box.n_dims - 1) dim.count = strip.count;
  return dim;
}

// The number of dims that Rows take: an irregular dim has to be the inner one.
int rows_dims(const Box& box) {
  if (box.n_dims < 2 || is_table_dim(box, 1)) return std::min(box.n_dims, 1);
  return 2;
}

Rows rows_of(const Box& box, Strip strip) {
  Rows rows;
  rows.block_bytes = box.block_bytes;
  if (rows_dims(box) > 0) rows.inner = dim_of_strip(box, 0, strip);
  if (rows_dims(box) > 1) rows.outer = dim_of_strip(box, 1, strip);
  if (is_table_dim(box, 0)) {
    rows.table = box.table.get();
    rows.table_side = box.table_side;
  }
  rows.streaming = strip.streaming;
  return rows;
}

// Calls the rows once for every position of the dims above them.
void run_odometer(const Box& box, Strip strip, const Rows& rows, RowsFn run, const char* src, char* dst) {
  const int first_dim = rows_dims(box), last_dim = box.n_dims - 1;
  std::array<std::int64_t, kMaxBoxDims> index{};
  index[last_dim] = strip.first;
  const std::int64_t end = strip.first + strip.count;
  for (;;) {
    const char* from = src;
    char* to = dst;
    for (int d = first_dim; d <= last_dim; ++d) {
      from += src_step(box, d, index[d]);
      to += dst_step(box, d, index[d]);
    }
    run(from, to, rows);
    int d = first_dim;
    while (d < last_dim && ++index[d] == box.dims[d].count) index[d++] = 0;
    if (d == last_dim && ++index[d] == end) return;
  }
}

// The box has dims.
void run_strip(const Box& box, Strip strip, const char* src, char* dst) {
  src += box.src_offset;
  dst += box.dst_offset;
  const Rows rows = rows_of(box, strip);
  const RowsFn run = choose_rows(rows);
  if (box.n_dims > rows_dims(box)) return run_odometer(box, strip, rows, run, src, dst);
  const Dim& top = box.dims[box.n_dims - 1];
  run(src + strip.first * top.src_stride, dst + strip.first * top.dst_stride, rows);
}

bool is_empty(const Box& box) {
  return std::any_of(box.dims.begin(), box.dims.begin() + box.n_dims, [](const Dim& dim) { return dim.count <= 0; });
}

const Dim* regular_top(const Box& box) {
  return box.n_dims == 0 || is_table_dim(box, box.n_dims - 1) ? nullptr : &box.dims[box.n_dims - 1];
}

bool share_top(const Box& a, const Box& b) {
  const Dim *x = regular_top(a), *y = regular_top(b);
  return x && y && x->count == y->count && x->src_stride == y->src_stride && x->dst_stride == y->dst_stride;
}

// The boxes from `box` on that share its outermost dim.
const Box* end_of_group(const Box* box, const Box* end) {
  const Box* next = box + 1;
  while (next != end && share_top(*box, *next)) ++next;
  return next;
}

// Iterations of its outermost dim that a group does at a time. A box that goes through memory several times (several
// boxes, or the runs of a struct) does so in strips, else each pass would fetch the same cache lines again.
std::int64_t strip_count(const Box* begin, const Box* end) {
  const Dim& top = begin->dims[begin->n_dims - 1];
  const bool several_passes = end - begin > 1 || (begin->table && !begin->table->runs.empty() && regular_top(*begin));
  const std::int64_t reach = std::max(std::abs(top.src_stride), std::abs(top.dst_stride));
  const bool in_strips = several_passes && reach > 0 && reach < kStripBytes;
  return in_strips ? kStripBytes / reach : top.count;
}

// Payloads larger than a rank's part of the last-level cache are evicted before their next reader.
bool exceeds_caches(const Box* begin, const Box* end) {
  constexpr std::int64_t kCacheBytes = 32 << 20;
  std::int64_t payload_bytes = 0;
  for (const Box* box = begin; box != end; ++box) payload_bytes += box->payload_bytes();
  return payload_bytes >= kCacheBytes;
}

void run_group(const Box* begin, const Box* end, const char* src, char* dst) {
  const std::int64_t count = begin->dims[begin->n_dims - 1].count, step = strip_count(begin, end);
  const bool streaming = exceeds_caches(begin, end);
  for (std::int64_t first = 0; first < count; first += step)
    for (const Box* box = begin; box != end; ++box)
      if (!is_empty(*box)) run_strip(*box, {first, std::min(step, count - first), streaming}, src, dst);
  if (streaming) end_streaming();
}

}  // namespace

std::optional<HostLoop> host_loop_of(const Box& box) {
  const Box* const end = &box + 1;
  if (box.n_dims > rows_dims(box) || is_empty(box) || exceeds_caches(&box, end)) return {};
  const std::int64_t count = box.n_dims > 0 ? box.dims[box.n_dims - 1].count : 1;
  if (box.n_dims > 0 && strip_count(&box, end) < count) return {};
  const Rows rows = rows_of(box, {0, count, false});
  return HostLoop{rows, choose_rows(rows), box.src_offset, box.dst_offset};
}

void run_on_host(const Boxes& boxes, const void* src, void* dst) {
  const auto* from = static_cast<const char*>(src);
  auto* to = static_cast<char*>(dst);
  const Box* const end = boxes.data() + boxes.size();
  for (const Box* box = boxes.data(); box != end;) {
    if (box->n_dims == 0) {
      copy_block(to + box->dst_offset, from + box->src_offset, box->block_bytes);
      ++box;
    } else {
      const Box* const next = end_of_group(box, end);
      run_group(box, next, from, to);
      box = next;
    }
  }
}

}  // namespace tempi::host
