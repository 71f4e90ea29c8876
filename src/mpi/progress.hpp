// The library makes progress only in its own calls. Code that waits for another process without a library call must
// call these functions, because that process may depend on messages of this one.
#pragma once

namespace tempi {

// An error code of the library. While there is MPI_COMM_WORLD.
int let_library_go_on() noexcept;
// Before the library ends.
void end_library_progress() noexcept;

}  // namespace tempi
