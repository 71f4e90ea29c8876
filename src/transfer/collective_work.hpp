// Pending collective calls. MPI calls advance them, and the progress thread advances them while the program makes no
// MPI call. collective/ includes transfer/, so transfer/ calls its functions through these pointers.
#pragma once

#include <atomic>
#include <cstdint>

namespace tempi::message {

struct CollectiveWork {
  void (*go_on)() noexcept;             // in an MPI call
  bool (*advance)() noexcept;           // by the thread, which may call MPI in its mode only; true: a step was made
  bool (*is_left)() noexcept;           // for the thread
  std::uint64_t (*n_go_on)() noexcept;  // it changes with each call of go_on that finds work
};
// Null: there has been none.
inline std::atomic<const CollectiveWork*> collective_work{nullptr};

}  // namespace tempi::message
