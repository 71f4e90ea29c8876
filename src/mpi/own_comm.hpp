// A communicator of this process alone, for calls of TEMPI whose errors must not reach the program: the calls return
// the errors.
#pragma once

#include "mpi/handle.hpp"

namespace tempi {

// False before MPI is initialised, after MPI has ended, and in a program that uses only sessions.
bool has_world() noexcept;

// Made at the first call. MPI_COMM_SELF where it cannot be made, as in a program that has sessions only.
Handle own_comm() noexcept;
// Before the library ends.
void end_own_comm() noexcept;

}  // namespace tempi
