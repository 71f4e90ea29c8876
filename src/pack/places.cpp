// The location of a move's ends.
#include <algorithm>

#include "pack/box_move.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;
using device::Location;
using device::MemoryKind;

std::int64_t first_byte(const Box& box) { return box.src_offset + (box.table ? box.table->offsets.front() : 0); }

Box with_fixed_index(const Box& box, int dim, std::int64_t index) {
  Box fixed = box;
  const bool from_table = box.table && box.table_dim == dim;
  fixed.src_offset +=
      from_table ? box.table->offsets[static_cast<std::size_t>(index)] : index * box.dims[dim].src_stride;
  fixed.dst_offset += index * box.dims[dim].dst_stride;
  std::copy(box.dims.begin() + dim + 1, box.dims.begin() + box.n_dims, fixed.dims.begin() + dim);
  --fixed.n_dims;
  if (from_table) fixed.table = nullptr;
  if (fixed.table && box.table_dim > dim) --fixed.table_dim;
  return fixed;
}

int widest_dim(const Box& box) {
  int widest = 0;
  for (int d = 1; d < box.n_dims; ++d) {
    if (span_of(box, d).bytes() > span_of(box, widest).bytes()) widest = d;
  }
  return widest;
}

bool lies_in_one_place(const Location& location, std::uintptr_t address, Span span) {
  if (location.kind == MemoryKind::host) return span.bytes() < kKindGranularity;
  return address + static_cast<std::uintptr_t>(span.begin) >= location.begin &&
         address + static_cast<std::uintptr_t>(span.end) <= location.end;
}

// Collects the parts of one end. Addresses may be absolute (MPI_BOTTOM) or reach from one allocation into another,
// and regular distances between allocations make one box of them: such a box is cut until each cut lies in one place.
class PartFinder {
 public:
  PartFinder(std::uintptr_t address, device::Device& device) : address_(address), device_(device) {}

  void add(const Box& box) {
    const Span span = span_of(box);
    if (!lies_in_one_place(last_, address_, span) || last_.kind == MemoryKind::host) {
      last_ = device_.locate(reinterpret_cast<const void*>(address_ + static_cast<std::uintptr_t>(first_byte(box))));
    }
    if (box.n_dims == 0 || lies_in_one_place(last_, address_, span)) return append(box);
    const int dim = widest_dim(box);
    if (looks_like_host(box, dim)) return append(box);
    for (std::int64_t i = 0; i < box.dims[dim].count; ++i) add(with_fixed_index(box, dim, i));
  }

  std::vector<Part>& parts() { return parts_; }

 private:
  // True if samples of many positions are all on the host: a query of each would take longer than its copy. Memory
  // reached from a buffer is one array or a few; absolute addresses may be anything, so they are not sampled.
  bool looks_like_host(const Box& box, int dim) {
    const std::int64_t count = box.dims[dim].count;
    if (last_.kind != MemoryKind::host || address_ == 0 || count <= kSamples) return false;
    for (std::int64_t k = 0; k < kSamples; ++k) {
      const Box one = with_fixed_index(box, dim, k * (count - 1) / (kSamples - 1));
      const auto at = address_ + static_cast<std::uintptr_t>(first_byte(one));
      if (device_.locate(reinterpret_cast<const void*>(at)).kind != MemoryKind::host) return false;
    }
    return true;
  }

  void append(const Box& box) {
    const auto here = std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) {
      return part.location.kind == last_.kind && part.location.context == last_.context;
    });
    if (here != parts_.end()) {
      here->boxes.push_back(box);
    } else {
      parts_.push_back({last_, {box}});
    }
  }

  static constexpr std::int64_t kSamples = 32;

  std::uintptr_t address_;
  device::Device& device_;
  Location last_;
  std::vector<Part> parts_;
};

}  // namespace

Span span_of(const datatype::Boxes& boxes) {
  Span all = span_of(boxes.front());
  for (const Box& box : boxes) {
    const Span span = span_of(box);
    all = {std::min(all.begin, span.begin), std::max(all.end, span.end)};
  }
  return all;
}

Span span_of(const End& end, std::int64_t count) {
  const std::int64_t last = (count - 1) * end.extent;
  const Span element =
      end.is_dense() ? Span{0, end.extent} : Span{end.layout->true_lower_bound, end.layout->true_upper_bound};
  return {element.begin + std::min<std::int64_t>(0, last), element.end + std::max<std::int64_t>(0, last)};
}

bool lies_in_one_place(const Location& location, const void* address, Span span) {
  return lies_in_one_place(location, reinterpret_cast<std::uintptr_t>(address), span);
}

std::vector<Part> find_parts(const End& end, std::int64_t count, device::Device& device) {
  PartFinder finder(reinterpret_cast<std::uintptr_t>(end.address), device);
  for (const Box& box : datatype::repeated(end.layout->boxes, count, end.extent, end.layout->size)) finder.add(box);
  return std::move(finder.parts());
}

Place locate(const End& end, std::int64_t count, device::Device& device) {
  Place place{device.locate(end.at(first_byte(end.layout->boxes.front())))};
  // The cheap answer for all but datatypes that reach from one allocation into another.
  if (lies_in_one_place(place.first, end.address, span_of(end, count))) return place;
  std::vector<Part> parts = find_parts(end, count, device);
  if (parts.size() > 1) place.parts = std::make_shared<const std::vector<Part>>(std::move(parts));
  return place;
}

void locate(BoxMove& box_move, device::Device& device) {
  box_move.dense().place = {device.locate(box_move.dense().address)};
  box_move.laid_out().place = locate(box_move.laid_out(), box_move.count, device);
}

const Location& Place::gpu() const {
  if (!is_split()) return first;
  const auto found =
      std::find_if(parts->begin(), parts->end(), [](const Part& part) { return part.location.on_gpu(); });
  return found != parts->end() ? found->location : first;
}

bool Place::touches_gpu() const { return first.on_gpu() || gpu().on_gpu(); }

}  // namespace tempi::pack
