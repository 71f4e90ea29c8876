// MPI_Reduce_local by a kernel, where this is possible.
#pragma once

#include <optional>

#include "collective/run.hpp"

namespace tempi::collective {

// The MPI code, if a kernel did the reduction. Empty: the caller must stage the buffers, for example because they are
// not on one GPU, or because reduced.def does not have the datatype or the operation.
std::optional<int> reduce_on_gpu(const Call& call, const Argument& in, const Argument& inout,
                                 Handle operation) noexcept;

}  // namespace tempi::collective
