// Accesses to GPU parts: MPI_Put, MPI_Accumulate, ... (MPI-4.1, 12.3). Each is complete at both ends when it returns.
//
// Atomicity (12.7.1): all accumulate calls on a part, of all members and of its own process, run one after the other,
// under the lock of the part (locks.hpp). So they are ordered, too.
#pragma once

#include <optional>

#include "collective/ends.hpp"
#include "collective/run.hpp"

namespace tempi::window {

// The arguments about the target.
struct Target {
  int rank;
  Aint displacement;
  Count count;
  Handle type;
};

// Nothing: the access is the library's, to a part in host memory or in a window that is the library's alone.
std::optional<int> access(const collective::Call& call, const collective::Ends& origin, const Target& target,
                          Handle operation) noexcept;

}  // namespace tempi::window
