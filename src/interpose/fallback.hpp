// When the GPU fails us: the MPI library does the call on copies in host memory.
#pragma once

#include "interpose/pack_call.hpp"

namespace tempi::interpose {

// Returns the library's code; throws Error where copies cannot be made (several kinds of memory, a dead GPU).
int library_on_host_copies(const Real& real, PackCall& call, const pack::Transfer& transfer, const pack::Route& route,
                           device::Device* device);

}  // namespace tempi::interpose
