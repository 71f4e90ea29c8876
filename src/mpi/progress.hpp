// The library makes progress in its own calls only. Who waits for another process without one makes these: that process
// may depend on messages of this one.
#pragma once

namespace tempi {

// An error code of the library. While there is MPI_COMM_WORLD.
int let_library_go_on() noexcept;
// Before the library ends.
void end_library_progress() noexcept;

}  // namespace tempi
