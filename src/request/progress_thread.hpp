// The thread that starts pending sends and advances pending collective calls if the program makes no MPI call. It is
// created when the first send or collective call becomes pending. It sleeps while nothing is pending. It works only
// after an interval without MPI calls that do this work. A sequence of MPI_Isend that ends in MPI_Waitall is shorter
// than this interval, so that its sends share launches. The interval grows in two cases: the program's calls do the
// work (the thread may run on the same core), or a collective call waits for other processes.
//
// The thread blocks all signals. It ends before MPI_Finalize or with the process. A forked child does not inherit it.
#pragma once

namespace tempi::message {

// Call it when a send or a collective call is pending. False: there is no thread, and none could be created.
bool wake_progress_thread() noexcept;

// Ends the thread, and returns when it has ended.
void stop_progress_thread() noexcept;

}  // namespace tempi::message
