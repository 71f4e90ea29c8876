// The library makes progress only in its own calls. Code that waits for another process without a library call must
// call these functions, because that process may depend on messages of this one.
#pragma once

namespace tempi {

// Lets the library make progress. Returns an error code of the library. If MPI_COMM_WORLD is not
// valid, as in a program that has only sessions, it does nothing and returns MPI_SUCCESS.
int let_library_go_on() noexcept;
// Before the library ends.
void end_library_progress() noexcept;

}  // namespace tempi
