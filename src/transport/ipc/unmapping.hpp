// The ends of mappings. A thread ends them; it exists while there are mappings to end. The driver first waits for all
// kernels of the context. The program's kernels may wait for other processes, which wait for the next MPI call of this
// process. Therefore, an MPI call must not wait for the driver.
#pragma once

#include "transport/ipc/imports.hpp"

namespace tempi::message {

// Takes the mapping over.
void end_later(const Import* mapping) noexcept;

// Returns when all have ended, or after a second: kernels hold them up.
void finish_unmapping() noexcept;

// False: a mapping of the same memory has not ended, and probably kernels hold up its end. The driver refuses to map
// what has been allocated there since (seen on an H200). Waits up to a tenth of a second for one that is not held up,
// up to two seconds with TEMPI_MATCH_TIMEOUT.
bool has_ended(const RemoteRange& range) noexcept;

}  // namespace tempi::message
