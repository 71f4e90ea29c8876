// Locks of GPU parts and of the members of dynamic windows: MPI_Win_lock, and the lock of accumulate calls. The lock
// words are in the board of the part, so that the member that owns the part need not make a call.
#pragma once

#include "window/window.hpp"

namespace tempi::window {

// Return when this process has the lock. Throw Error (lost) if a process that has the lock has ended. Throw Refused.
void lock_shared(Window& window, int target);
void lock_exclusive(Window& window, int target);
void unlock(Window& window, int target) noexcept;

// Takes the shared lock of all GPU parts. While it waits for one lock, it holds none, so that processes cannot wait for
// each other in a cycle.
void lock_all_shared(Window& window);
void unlock_all_shared(Window& window) noexcept;

// While it lives, no other accumulate call of any process changes the part.
class Accumulating {
 public:
  Accumulating(Window& window, int target);
  ~Accumulating();
  Accumulating(const Accumulating&) = delete;
  Accumulating& operator=(const Accumulating&) = delete;

 private:
  ipc::WindowBoard& board_;
};

}  // namespace tempi::window
