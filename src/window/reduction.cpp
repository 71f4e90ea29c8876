#include "window/reduction.hpp"

#include "call/call_forms.hpp"
#include "collective/blocks.hpp"
#include "collective/image.hpp"
#include "collective/reduced.hpp"
#include "mpi/own_comm.hpp"
#include "mpi/real.hpp"
#include "pack/reduction.hpp"
#include "types/reader.hpp"

namespace tempi::window {
namespace {

using message::PackedBuffer;
using message::Strategy;
using PackedPtr = std::unique_ptr<PackedBuffer>;

Error mixed_elements() {
  return Error(ErrorKind::type,
               "an accumulate call needs a datatype whose elements are all of one predefined datatype");
}

// False: there is not enough GPU memory for the packed elements.
bool is_reduced_by_kernel(const Elements& origin, const Elements& target, const collective::Reduced& reduced,
                          device::Device& device) {
  const PackedPtr from = gathered(origin, Strategy::device, device), to = gathered(target, Strategy::device, device);
  const pack::End& dense = to->box_move().dense();
  const device::Location& at = target.end.place.first;
  if (dense.place.first.kind != device::MemoryKind::device) return false;
  const device::Scope here(device, at.context);
  std::optional<device::Staging> beside;
  try {
    const void* const in = brought_beside(*from, at, here, beside);
    pack::launch_reduction(here, reduced.type, reduced.operation, in, dense.address,
                           static_cast<std::uint64_t>(target.bytes()) / pack::bytes_of(reduced.type));
    here.finish();
  } catch (...) {  // before the memory goes back
    here.settle();
    throw;
  }
  scatter(dense, target.bytes(), target, device);
  return true;
}

// Elements in host memory as the library computes with them.
collective::Image image_of(const PackedBuffer& packed, const KnownType& element) {
  auto* const bytes = static_cast<std::byte*>(packed.data());
  return {element, {{bytes, 0, packed.bytes() / element.size(), collective::kBoth}}};
}

int reduce_local(const void* in, void* inout, Count count, Handle element, Handle operation) {
  const Real& mpi = real_pmpi();
  if (mpi.MPI_Reduce_local_c) return mpi.MPI_Reduce_local_c(in, inout, count, element, operation);
  if (!message::fits_int(count)) throw Error(ErrorKind::unsupported, "too many elements for MPI_Reduce_local");
  return mpi.MPI_Reduce_local(in, inout, static_cast<int>(count), element, operation);
}

void reduce_on_host(const Elements& origin, const Elements& target, Handle element, Handle operation,
                    device::Device& device) {
  const KnownType& type = collective::resolve(element, comm_null());
  const PackedPtr from = gathered(origin, Strategy::host, device), to = gathered(target, Strategy::host, device);
  const collective::Image in = image_of(*from, type), inout = image_of(*to, type);
  in.spread();
  inout.spread();
  const int code = reduce_local(in.address(), inout.address(), target.bytes() / type.size(), element, operation);
  if (code != MPI_SUCCESS) throw collective::Refused{code};
  inout.collect();
  scatter(to->box_move().dense(), target.bytes(), target, device);
}

}  // namespace

Handle element_of(Handle type) {
  if (is_predefined(type)) return type;
  MpiTypeReader reader;
  const datatype::Contents contents = reader.contents(type);
  Handle element = 0;
  bool is_mixed = contents.types.empty();
  for (const Handle inner : contents.types) {
    const Handle one = element_of(inner);
    is_mixed = is_mixed || (element != 0 && key_of(one) != key_of(element));
    element = one;
  }
  for (const Handle inner : contents.types) reader.release(inner);
  if (is_mixed) throw mixed_elements();
  return element;
}

void check_operation(Handle element, Handle operation) {
  const bool computes = key_of(operation) != key_of(op_replace()) && key_of(operation) != key_of(op_no_op());
  if (!computes) return;
  if (collective::is_misfit(element, operation))
    throw Error(ErrorKind::operation, "an accumulate call needs a predefined operation of its datatype");
  if (collective::reduced_by_kernel(element, operation)) return;
  // Asked here, where no lock is held, and on a communicator whose errors are returned.
  char in = 0, out = 0;
  if (const int code = real_pmpi().MPI_Allreduce(&in, &out, 0, element, operation, own_comm()); code != MPI_SUCCESS)
    throw collective::Refused{code};
}

void reduce_into(const Elements& origin, const Elements& target, Handle element, Handle operation,
                 device::Device& device) {
  if (const auto reduced = collective::reduced_by_kernel(element, operation)) {
    const bool is_dense = collective::resolve(element, comm_null()).is_dense;
    if (is_dense && is_reduced_by_kernel(origin, target, *reduced, device)) return;
  }
  reduce_on_host(origin, target, element, operation, device);
}

}  // namespace tempi::window
