// The start and the end of MPI in this process.
#pragma once

namespace tempi::process {

// After MPI_Init or MPI_Session_init: warns once of configuration problems (on rank 0, if there is a world).
enum class World { yes, no };
void begin(World world) noexcept;

// Before MPI_Finalize and MPI_Session_finalize. The last of them shuts MPI down, which destroys datatypes and
// communicators without a callback, so TEMPI removes its data about them. MPI_Finalize releases all resources of TEMPI.
void end_world() noexcept;
void end_session() noexcept;
// MPI_Session_finalize has failed.
void keep_session() noexcept;

}  // namespace tempi::process
