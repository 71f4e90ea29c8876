// MPI_Reduce_local by a kernel, where this is possible.
#pragma once

#include <optional>

#include "collective/run.hpp"

namespace tempi::collective {

// The MPI code, if a kernel did the call. Empty: the caller stages the buffers, as where they are not on one GPU, or
// the datatype or the operation is not one of reduced.def.
std::optional<int> reduce_on_gpu(const Call& call, const Argument& in, const Argument& inout,
                                 Handle operation) noexcept;

}  // namespace tempi::collective
