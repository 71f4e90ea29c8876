#include "interpose/measured_memory.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <stdexcept>

#include "base/options.hpp"
#include "datatype/canonical.hpp"
#include "datatype/decode.hpp"
#include "mpi/type_reader.hpp"

namespace tempi::interpose {
namespace {

using device::MemoryKind;
using device::Scope;

datatype::Type decoded(std::uint64_t datatype) {
  MpiTypeReader reader;
  return datatype::decode(static_cast<Handle>(datatype), reader);
}

// From the first byte of the elements to behind the last one.
struct Span {
  std::int64_t begin, end;
};
Span span_of(const datatype::Layout& layout, const pack::Repeat& repeat) {
  const std::int64_t last = (repeat.count - 1) * repeat.extent;
  return {layout.true_lower_bound + std::min<std::int64_t>(0, last),
          layout.true_upper_bound + std::max<std::int64_t>(0, last)};
}

}  // namespace

device::Device& gpu() {
  if (device::current() == nullptr) dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);
  device::Device* const device = device::current();
  if (device == nullptr) throw std::runtime_error("there is no GPU, or no driver for it (libcuda.so.1)");
  return *device;
}

bool has_gpu() {
  device::Device* const device = device::current();
  return device != nullptr && device->facts().count > 0;
}

int world_rank() {
  int rank = 0;
  real_pmpi().MPI_Comm_rank(comm_world(), &rank);
  return rank;
}

device::Context my_context() {
  const NodeRanks here = ranks_on_node();
  const int rank = here.count > 0 ? static_cast<int>(here.mine) : world_rank();
  return gpu().primary(rank % std::max(1, gpu().facts().count));
}

Memory::Memory(MemoryKind kind, std::int64_t bytes) : kind_(kind), bytes_(static_cast<std::size_t>(bytes)) {
  if (kind_ == MemoryKind::host) {
    host_.resize(bytes_, 1);
  } else {
    const Scope scope(gpu(), context_ = my_context());
    data_ = kind_ == MemoryKind::device ? gpu().allocate(bytes_) : gpu().allocate_pinned(bytes_);
  }
}

Memory::~Memory() {
  if (kind_ == MemoryKind::host) return;
  const Scope scope(gpu(), context_);
  if (kind_ == MemoryKind::device) gpu().deallocate(data_);
  else gpu().deallocate_pinned(data_, bytes_);
}

Typed::Typed(const tempi_measurement& what, MemoryKind kind) : Typed(what, kind, decoded(what.datatype)) {}

Typed::Typed(const tempi_measurement& what, MemoryKind kind, const datatype::Type& type)
    : n_chunks_(what.parts),
      plan_(std::make_shared<pack::Plan>(datatype::canonicalise(type.tree))),
      repeat_{what.count, type.extent},
      memory_(kind, span_of(plan_->layout, repeat_).end - span_of(plan_->layout, repeat_).begin),
      data_(memory_.data() - span_of(plan_->layout, repeat_).begin) {}

send::Side Typed::side(pack::Direction direction, send::Strategy strategy) {
  send::Side side{direction, plan_, repeat_, data_, {}, strategy};
  if (n_chunks_ > 0) side.chunk_bytes = (bytes() + n_chunks_ - 1) / n_chunks_;
  if (strategy != send::Strategy::host) side.route = pack::find_route(transfer(direction, nullptr), {}, gpu());
  return side;
}

}  // namespace tempi::interpose
