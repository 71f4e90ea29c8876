// The ends of mappings. A thread ends them; it exists while there are mappings to end. The driver first waits for all
// kernels of the context. The program's kernels may wait for other processes, which wait for the next MPI call of this
// process. Therefore, an MPI call must not wait for the driver. (If there is no memory for the thread or for its list,
// end_later() ends the mapping, and warns.)
//
// Another thread sleeps until another process wakes it, because this process may have mapped memory that the program
// there has freed. It finds the mappings and passes them to end_later(), so that the other process need not wait for
// the next MPI call of this process.
#pragma once

#include "sharing/imports.hpp"

namespace tempi::message {

// Takes ownership of the mapping, and ends it.
void end_later(const Import* mapping) noexcept;

// Creates the thread that sleeps, once.
void create_sleeping_thread() noexcept;

// Waits until all mappings have ended, at most one second (kernels can delay their end). From now on, the sleeping
// thread ends no mappings.
void finish_unmapping() noexcept;

// False: a mapping of the same memory has not ended, probably because kernels delay its end. Until then the driver
// refuses to map a newer allocation at the same addresses (seen on an H200). Waits at most 0.1 s, or at most 2 s with a
// large TEMPI_MATCH_TIMEOUT.
bool has_ended(const RemoteRange& range) noexcept;

}  // namespace tempi::message
