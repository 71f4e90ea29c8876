// Whether calls are handled at all, and the beginning and end of that.
#pragma once

namespace tempi::interpose {

// False: TEMPI_DISABLE, or an MPI library of another ABI. Then every call goes on untouched.
bool active() noexcept;

// After MPI has been initialised: tells once (on rank 0, where there is a world) what the user should know is off.
enum class World { yes, no };
void announce(World world) noexcept;

// Before MPI shuts down: the report, then everything that we hold is given back.
void shut_down() noexcept;

}  // namespace tempi::interpose
