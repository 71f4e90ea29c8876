// The ends of mappings, by a thread that lives while there are some: the driver waits for all kernels of the context
// first, and the program's may be waiting for other processes, which wait for this one's next call.
#pragma once

#include "sharing/imports.hpp"

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
