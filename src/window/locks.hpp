// Locks of GPU parts: MPI_Win_lock, and the lock of accumulate calls. The words are in the board of the part, so that
// no call of its member is needed.
#pragma once

#include "window/window.hpp"

namespace tempi::window {

// Return when this process has the lock. Throw Error (lost) if a process that is waited for has ended, and Refused.
void lock_shared(Window& window, int target);
void lock_exclusive(Window& window, int target);
void unlock(Window& window, int target) noexcept;

// The shared lock of all GPU parts. It waits while it has none of them: it cannot be part of a cycle of waiting
// processes.
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
