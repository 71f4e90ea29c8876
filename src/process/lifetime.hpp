// The beginning and the end of MPI in this process.
#pragma once

namespace tempi::process {

// After MPI has been initialised: warns once of configuration problems (on rank 0, if there is a world).
enum class World { yes, no };
void announce(World world) noexcept;

// Before MPI or a session shuts down, which destroys datatypes and communicators without notice.
void forget_handles() noexcept;

// Before MPI shuts down: releases all our resources.
void shut_down() noexcept;

}  // namespace tempi::process
