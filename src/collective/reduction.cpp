#include "collective/reduction.hpp"

#include "base/log.hpp"
#include "base/trace.hpp"
#include "collective/reduced.hpp"
#include "device/stream_order.hpp"
#include "mpi/active.hpp"
#include "transfer/endpoint.hpp"

namespace tempi::collective {
namespace {

using device::Location;
using device::MemoryKind;

// False: nothing has been queued.
bool is_launched(const device::Scope& here, const Reduced& reduced, const void* in, void* inout, Count count) {
  try {
    pack::launch_reduction(here, reduced.type, reduced.operation, in, inout, static_cast<std::uint64_t>(count));
    return true;
  } catch (...) {
    warn_fallback("a reduction is done in host memory", caught_error().what());
    return false;
  }
}

}  // namespace

std::optional<int> reduce_on_gpu(const Call& call, const Argument& in, const Argument& inout, Handle operation) noexcept
    try {
  device::Device* const device = active() && !message::is_switched_off() ? device::current() : nullptr;
  if (device == nullptr) return {};
  const std::optional<Reduced> reduced =
      inout.count > 0 ? reduced_by_kernel(inout.type, operation) : std::optional<Reduced>{};
  const Location to = reduced ? device->locate(inout.address) : Location{};
  if (!to.on_gpu() || !is_whole(to, inout.address, *reduced, inout.count)) return {};
  const Location from = device->locate(in.address);
  device::throw_failed_wait();
  const bool is_beside = from.kind == MemoryKind::pinned || (from.on_gpu() && from.context == to.context);
  if (!is_beside || !is_whole(from, in.address, *reduced, inout.count)) return {};
  const device::Scope here(*device, to.context);
  const bool is_done = trace::traced("reduce", [&] {
    if (!is_launched(here, *reduced, in.address, const_cast<void*>(inout.address), inout.count)) return false;
    here.finish();
    return true;
  });
  if (!is_done) return {};
  count_call(call.function, Outcome::taken_device, static_cast<std::uint64_t>(reduced->bytes_of(inout.count)));
  return MPI_SUCCESS;
} catch (...) {
  return tell(caught_error(), call.owner, call.owned_by);
}

}  // namespace tempi::collective
