// The beginning and the end of MPI in this process.
#pragma once

namespace tempi::process {

// After MPI has been initialised: tells once (on rank 0, where there is a world) what the user should know is off.
enum class World { yes, no };
void announce(World world) noexcept;

// Before MPI or a session shuts down, which takes datatypes and communicators without telling us.
void forget_handles() noexcept;

// Before MPI shuts down: everything that we hold is given back.
void shut_down() noexcept;

}  // namespace tempi::process
