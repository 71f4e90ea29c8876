// TEMPI_Set_stream and TEMPI_Get_stream, which include/tempi.h and include/tempi.f90 look up.
#include "face/stream.hpp"

#include "base/error.hpp"
#include "device/stream_order.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "mpi/real.hpp"
#include "mpi_config.h"
#include "transfer/endpoint.hpp"

namespace tempi::face {
namespace {

bool handles_calls() { return active() && !message::is_switched_off(); }

constexpr int kNotLoaded = -1;  // TEMPI_ERR_NOT_LOADED

// An error code of ours can be made only while MPI is up.
int code_of(const Error& error) noexcept {
  int begun = 0, ended = 0;
  real_pmpi().MPI_Initialized(&begun);
  real_pmpi().MPI_Finalized(&ended);
  return begun != 0 && ended == 0 ? error_code(error) : MPI_ERR_OTHER;
}

}  // namespace

int set_stream(void* stream) noexcept {
  if (!active()) return kNotLoaded;
  try {
    device::set_stream(device::current(), stream);
    return MPI_SUCCESS;
  } catch (...) {
    return code_of(caught_error());
  }
}

void* stream() noexcept { return active() ? device::stream() : device::kNoStream; }

bool order_after_array(const void* address, void* stream) {
  device::Device* const device = handles_calls() ? device::current() : nullptr;
  if (device == nullptr) return false;
  const device::OrderedByMarks ordered;
  const device::Location location = device->locate(address);
  if (location.gpu_reaches()) device::wait_for_array(*device, location, stream);
  return true;
}

}  // namespace tempi::face

extern "C" __attribute__((visibility("default"))) int TEMPI_Set_stream(void* stream) {
  return tempi::face::set_stream(stream);
}

extern "C" __attribute__((visibility("default"))) int TEMPI_Get_stream(void** stream) {
  *stream = tempi::face::stream();
  return tempi::active() ? MPI_SUCCESS : tempi::face::kNotLoaded;
}
