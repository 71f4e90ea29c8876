#include "stream/argument_sets.hpp"

#include "base/error.hpp"
#include "device/stream_order.hpp"

namespace tempi::message {
namespace {

const KnownType* type_of(Handle datatype) {
  const KnownType* const known = find_type(datatype);
  return known != nullptr ? known : analyse_type(datatype).type;
}

std::int64_t size_of(Handle datatype) {
  Count bytes = 0;
  real_pmpi().MPI_Type_size_x(datatype, &bytes);
  return bytes;
}

}  // namespace

device::Location location_of(const void* address) {
  device::Device* const device = device::current();
  const device::OrderedByMarks ordered;
  return device != nullptr ? device->locate(address) : device::Location{};
}

bool exists(const device::Location& location) {
  device::Device* const device = device::current();
  return !location.on_gpu() || (device != nullptr && device->exists(location));
}

ArgumentSet::ArgumentSet(const Buffer& its_buffer, const KnownType* type, const device::Location& its_location)
    : buffer(its_buffer),
      bytes(its_buffer.count * size_of(its_buffer.datatype)),
      program_type_(key_of(its_buffer.datatype)),
      is_named_(type != nullptr && type->is_named),
      prepared_(type != nullptr ? type->prepared : nullptr),
      extent_(type != nullptr ? type->extent : 0),
      at_(its_location) {
  if (is_named_) return;
  const Real& mpi = real_pmpi();
  Handle own = 0;
  int code = mpi.MPI_Type_contiguous(1, its_buffer.datatype, &own);
  if (code == MPI_SUCCESS) code = mpi.MPI_Type_commit(&own);
  if (code != MPI_SUCCESS) throw Error(ErrorKind::type, "the datatype of an enqueued call cannot be copied");
  buffer.datatype = own;
}

ArgumentSet::~ArgumentSet() {
  if (!is_named_) real_pmpi().MPI_Type_free(&buffer.datatype);
}

bool ArgumentSet::equals(const Buffer& its_buffer, const KnownType* type, const device::Location& its_location) const {
  if (buffer.address != its_buffer.address || buffer.count != its_buffer.count) return false;
  if (buffer.direction != its_buffer.direction || type == nullptr || !(at_ == its_location)) return false;
  if (is_named_ || type->is_named) return program_type_ == key_of(its_buffer.datatype);
  return prepared_ == type->prepared && extent_ == type->extent;
}

void ArgumentSets::forget_freed() {
  if (std::erase_if(all_, [](const auto& one) { return !one.second->has_buffer(); }) != 0) ++n_forgotten_;
}

ArgumentSetPtr ArgumentSets::take(const Buffer& buffer, bool& is_new) {
  const KnownType* const type = type_of(buffer.datatype);
  // Of the bytes: the address may be MPI_BOTTOM.
  const std::int64_t first_byte = type != nullptr ? type->plan->layout.true_lower_bound : 0;
  const device::Location at = location_of(static_cast<const char*>(buffer.address) + first_byte);
  const auto [first, last] = all_.equal_range(buffer.address);
  for (auto one = first; one != last; ++one) {
    ArgumentSet& known = *one->second;
    if (known.is_busy || !known.equals(buffer, type, at)) continue;
    known.is_busy = true;
    is_new = false;
    return one->second;
  }
  // Their pairs are forgotten, too: nothing else would find out that their buffers are freed.
  if (all_.size() >= kMost && std::erase_if(all_, [](const auto& one) { return !one.second->is_busy; }) != 0)
    ++n_forgotten_;
  auto made = std::make_shared<ArgumentSet>(buffer, type, at);
  made->number = n_made_++;
  made->is_busy = true;
  all_.emplace(buffer.address, made);
  is_new = true;
  return made;
}

}  // namespace tempi::message
