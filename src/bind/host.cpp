// The host packer on Python buffers. A box that would leave its buffer is an exception, never a touched byte.
#include <algorithm>
#include <limits>
#include <pybind11/stl.h>

#include "bind/bind.hpp"
#include "host/packer.hpp"
#include "pack/float16_names.hpp"

namespace py = pybind11;

namespace tempi::bind {
namespace {

using namespace datatype;

struct Span {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();

  void join(const Span& other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
};

// The smallest and the largest offset that dimension `d` adds.
Span reach(const Box& box, int d, Side side) {
  const Dim& dim = box.dims[d];
  if (box.table && d == box.table_dim && side == box.table_side) {
    const auto& offsets = box.table->offsets;
    const auto used = offsets.begin() + std::min<std::int64_t>(dim.count, std::ssize(offsets));
    if (used - offsets.begin() < dim.count) throw py::value_error("a box's offset table is shorter than its dimension");
    const auto [low, high] = std::minmax_element(offsets.begin(), used);
    return {*low, *high};
  }
  const std::int64_t last = (dim.count - 1) * (side == Side::src ? dim.src_stride : dim.dst_stride);
  return {std::min<std::int64_t>(0, last), std::max<std::int64_t>(0, last)};
}

Span touched(const Box& box, Side side) {
  const std::int64_t first = side == Side::src ? box.src_offset : box.dst_offset;
  Span span{first, first + box.block_bytes};
  for (int d = 0; d < box.n_dims; ++d) {
    const Span added = reach(box, d, side);
    span.begin += added.begin;
    span.end += added.end;
  }
  return span;
}

void check_inside(const Boxes& boxes, Side side, std::int64_t origin, const py::buffer_info& buffer) {
  Span all;
  for (const Box& box : boxes) {
    if (box.payload_bytes() > 0) all.join(touched(box, side));
  }
  if (all.begin > all.end) return;  // no bytes at all
  if (origin + all.begin < 0 || origin + all.end > buffer.size * buffer.itemsize) {
    throw py::index_error("boxes reach outside of the " + std::string(side == Side::src ? "source" : "destination") +
                          " buffer: bytes " + std::to_string(origin + all.begin) + " to " +
                          std::to_string(origin + all.end) + " of " + std::to_string(buffer.size * buffer.itemsize));
  }
}

void check_contiguous(const py::buffer_info& buffer) {
  py::ssize_t stride = buffer.itemsize;
  for (py::ssize_t d = buffer.ndim - 1; d >= 0; --d) {
    if (buffer.shape[d] > 1 && buffer.strides[d] != stride) throw py::value_error("the buffers must be contiguous");
    stride *= buffer.shape[d];
  }
}

void run_checked(const Boxes& boxes, const py::buffer& src, std::int64_t src_origin, const py::buffer& dst,
                 std::int64_t dst_origin) {
  const py::buffer_info from = src.request();
  const py::buffer_info to = dst.request(true);
  check_contiguous(from);
  check_contiguous(to);
  check_inside(boxes, Side::src, src_origin, from);
  check_inside(boxes, Side::dst, dst_origin, to);
  host::run_on_host(boxes, static_cast<const std::byte*>(from.ptr) + src_origin,
                    static_cast<std::byte*>(to.ptr) + dst_origin);
}

// target[i] = target[i] operation source[i]
void reduce_float16(const std::string& scalar, const std::string& operation, const py::buffer& source,
                    const py::buffer& target) {
  const py::buffer_info from = source.request();
  const py::buffer_info to = target.request(true);
  check_contiguous(from);
  check_contiguous(to);
  const auto type = pack::float16_named(scalar);
  const auto by = pack::float16_operation_named(operation);
  const py::ssize_t bytes = to.size * to.itemsize;
  if (!type || !by || bytes % 2 != 0 || from.size * from.itemsize != bytes)
    throw py::value_error("no operation of 16-bit floats in two buffers of one size: " + operation + " of " + scalar);
  const py::gil_scoped_release released;
  pack::reduce_on_cpu(*type, *by, from.ptr, to.ptr, static_cast<std::uint64_t>(bytes) / 2);
}

// Copies within host memory, each from an address to another one by the same loops. The caller answers for the memory,
// and no byte that is written is also read or written by another copy.
class HostCopies {
 public:
  using Loop = std::pair<std::int64_t, std::int64_t>;  // count and stride, the outermost first

  void add(std::int64_t from, std::int64_t to, std::int64_t block_bytes, const std::vector<Loop>& loops) {
    if (std::ssize(loops) > kMaxBoxDims) throw py::value_error("a copy has too many loops");
    if (boxes_.empty()) origin_ = from;
    Box& box = boxes_.emplace_back();
    box.src_offset = from - origin_;
    box.dst_offset = to - origin_;
    box.block_bytes = block_bytes;
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      box.dims[static_cast<std::size_t>(box.n_dims++)] = {loop->first, loop->second, loop->second};
    }
  }
  void run() const {
    auto* const origin = reinterpret_cast<void*>(origin_);
    host::run_on_host(boxes_, origin, origin);
  }

 private:
  Boxes boxes_;
  std::int64_t origin_ = 0;
};

}  // namespace

void bind_host(py::module_& module) {
  module.def("reduce_float16", reduce_float16, py::arg("scalar"), py::arg("operation"), py::arg("source"),
             py::arg("target"));
  module.def("run_on_host", run_checked, py::arg("boxes"), py::arg("src_buffer"), py::arg("src_origin"),
             py::arg("dst_buffer"), py::arg("dst_origin"));
  py::class_<HostCopies>(module, "HostCopies")
      .def(py::init<>())
      .def_readonly_static("most_loops", &kMaxBoxDims)
      .def("add", &HostCopies::add, py::arg("source"), py::arg("target"), py::arg("block_bytes"), py::arg("loops"))
      .def("run", &HostCopies::run, py::call_guard<py::gil_scoped_release>());
}

}  // namespace tempi::bind
