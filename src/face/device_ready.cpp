// The functions of include/tempi_device.h: partitions that kernels make ready.
#include "collective/device_ready.hpp"

#include <cstdint>

#include "base/error.hpp"
#include "call/call_forms.hpp"
#include "mpi/active.hpp"
#include "mpi/errors.hpp"
#include "mpi/inside.hpp"

namespace tempi::face {
namespace {

constexpr int kNotLoaded = -1;  // TEMPI_ERR_NOT_LOADED

int create(const void* request, std::uint32_t** words, int* n) {
  if (request == nullptr || words == nullptr || n == nullptr) return raise(comm_world(), MPI_ERR_ARG);
  *words = collective::words_of_kernels(load_handle(request), *n);
  return *words != nullptr ? MPI_SUCCESS : raise(comm_world(), MPI_ERR_REQUEST);
}

}  // namespace
}  // namespace tempi::face

#define TEMPI_EXPORTED extern "C" __attribute__((visibility("default")))

TEMPI_EXPORTED int TEMPI_Prequest_create(const void* request, std::uint32_t** words, int* n) {
  using namespace tempi;
  if (!active() || message::is_switched_off()) return face::kNotLoaded;
  const Inside inside;
  return inside.leave(message::guarded(comm_world(), [&] { return face::create(request, words, n); }));
}

TEMPI_EXPORTED int TEMPI_Prequest_free(const std::uint32_t* words) {
  if (!tempi::active()) return tempi::face::kNotLoaded;
  tempi::collective::DeviceReady::get().close(words);
  return MPI_SUCCESS;
}
