// Accesses to GPU parts: MPI_Put, MPI_Accumulate, ... (MPI-4.1, 12.3). MPI_Put and MPI_Get are complete when a call
// completes the accesses of the window (queued_moves.hpp). Other accesses are complete at both ends when their call
// returns.
//
// Atomicity and order (12.7.1): all accumulate calls on a part run one after the other, under the lock of the part
// (locks.hpp). This includes the calls of the process that owns the part.
#pragma once

#include <optional>

#include "collective/ends.hpp"
#include "collective/run.hpp"

namespace tempi::window {

// The arguments that describe the target.
struct Target {
  int rank;
  Aint displacement;
  Count count;
  Handle type;
};

// Nothing: the library carries out the access, because the part of the target is in host memory, or because TEMPI has
// no window for the handle.
std::optional<int> access(const collective::Call& call, const collective::Ends& origin, const Target& target,
                          Handle operation) noexcept;

}  // namespace tempi::window
