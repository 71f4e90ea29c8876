// The thread that starts pending sends, and lets pending collective calls go on, while no thread of the program does.
// It is made when the first of them becomes pending, and sleeps while none is and no call looks after any. It looks
// after them only if no call has for an interval: a row of MPI_Isend that ends in MPI_Waitall is over before that, and
// its packs share their launches. The interval grows while the program looks after them itself, since the thread may
// run on the same core, and while a collective call waits for other processes.
//
// It blocks all signals, ends before MPI_Finalize or with the process, and is not inherited by a forked child.
#pragma once

namespace tempi::message {

// Call when a send or a collective call is pending. False: there is no thread, and none could be made.
bool wake_progress_thread() noexcept;

// Returns when it has ended.
void stop_progress_thread() noexcept;

}  // namespace tempi::message
