#include "datatype/box.hpp"

#include <algorithm>

namespace tempi::datatype {

Span span_of(const Box& box, int dim) {
  if (box.table && box.table_dim == dim) return {box.table->lowest, box.table->highest};
  const std::int64_t last = (box.dims[dim].count - 1) * box.dims[dim].src_stride;
  return {std::min<std::int64_t>(0, last), std::max<std::int64_t>(0, last)};
}

Span span_of(const Box& box) {
  Span all{box.src_offset, box.src_offset + box.block_bytes};
  for (int d = 0; d < box.n_dims; ++d) {
    const Span span = span_of(box, d);
    all = {all.begin + span.begin, all.end + span.end};
  }
  return all;
}

}  // namespace tempi::datatype
