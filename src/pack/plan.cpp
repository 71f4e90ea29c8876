#include "pack/plan.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/page.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;
using datatype::Boxes;

std::int64_t in_units(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit; }

Traffic traffic_of(const Boxes& boxes) {
  constexpr std::int64_t kSector = 32;
  Traffic traffic;
  for (const Box& box : boxes) {
    const std::int64_t blocks = box.payload_bytes() / box.block_bytes;
    const bool regular = box.n_dims > 0 && !(box.table && box.table_dim == 0);
    const std::int64_t sectors = in_units(box.block_bytes, kSector) * kSector;
    const std::int64_t apart = regular ? std::max(std::abs(box.dims[0].src_stride), box.block_bytes) : sectors;
    traffic.blocks += blocks;
    traffic.is_indexed = traffic.is_indexed || box.table;
    traffic.pages +=
        std::min(blocks * in_units(box.block_bytes, kPageBytes), in_units(span_of(box).bytes(), kPageBytes));
    traffic.touched += box.n_dims == 0 ? box.block_bytes : blocks * std::min(apart, sectors);
  }
  return traffic;
}

}  // namespace

Mapping::Mapping(const Boxes& boxes, Sense sense) : boxes_(boxes), sense_(sense) {
  if (boxes.size() == 1) host_loop_ = host::host_loop_of(oriented(boxes.front()));
}

Box Mapping::oriented(const Box& box) const { return sense_ == Sense::written ? box : datatype::reversed(box); }

Boxes Mapping::oriented(Boxes boxes) const {
  for (Box& box : boxes) box = oriented(box);
  return boxes;
}

// Layouts are written for packing.
Plan::Plan(datatype::TreePtr canonical)
    : tree(std::move(canonical)),
      layout(datatype::layout(*tree)),
      traffic(traffic_of(layout.boxes)),
      mappings_{{{layout.boxes, Mapping::Sense::written}, {layout.boxes, Mapping::Sense::exchanged}}} {}

bool is_plain_copy(const Boxes& boxes) { return boxes.size() == 1 && boxes.front().n_dims == 0; }

bool is_plain_copy(const Plan& plan, Repeat repeat) {
  return is_plain_copy(plan.layout.boxes) && (repeat.count == 1 || repeat.extent == plan.layout.size);
}

}  // namespace tempi::pack
