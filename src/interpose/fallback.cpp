#include "interpose/fallback.hpp"

#include "base/error.hpp"
#include "interpose/host_image.hpp"

namespace tempi::interpose {

int library_on_host_copies(const Real& real, PackCall& call, const pack::Transfer& transfer, const pack::Route& route,
                           device::Device* device) {
  if (!route.touches_gpu) return call_library(real, call);
  if (route.is_split()) {
    throw Error(ErrorKind::device, "a datatype that spans several kinds of memory has no fallback");
  }
  HostImage typed = typed_image(transfer, route, device);
  HostImage packed = packed_image(transfer, route, device);
  PackCall copy = call;
  copy.typed = typed.translate(call.typed);
  copy.packed = packed.data();
  copy.packed_size = packed.size();
  copy.position = 0;
  const int code = call_library(real, copy);
  if (code != MPI_SUCCESS) return code;
  (call.direction == pack::Direction::pack ? packed : typed).store();
  call.position += copy.position;
  return code;
}

}  // namespace tempi::interpose
