// The work of collective/ that goes on beside the program: reductions by kernels, partitioned
// messages, and accesses of files in chunks.
#pragma once

namespace tempi::collective {

// From now on, MPI calls and the progress thread look for it. `is_for_thread`: the thread has work now.
void begin_pending_work(bool is_for_thread) noexcept;

}  // namespace tempi::collective
