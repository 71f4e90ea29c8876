// The thread that starts pending sends and advances pending collective calls while no thread of the program does. It is
// created when the first send or call becomes pending. It sleeps while nothing is pending, or while calls of the
// program do this work. It works only if no call has worked for an interval. A sequence of MPI_Isend that ends in
// MPI_Waitall is shorter than this interval, so that its packs share their launches. The interval grows while the
// program does the work itself, because the thread may run on the same core, and while a collective call waits for
// other processes.
//
// The thread blocks all signals. It ends before MPI_Finalize or with the process. A forked child does not inherit it.
#pragma once

namespace tempi::message {

// Call it when a send or a collective call is pending. False: there is no thread, and none could be created.
bool wake_progress_thread() noexcept;

// Returns when it has ended.
void stop_progress_thread() noexcept;

}  // namespace tempi::message
