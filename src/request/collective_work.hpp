// Collective calls that are pending: they go on in MPI calls, and by the progress thread while the program makes none.
// collective/ includes transfer/, so that its functions are found here.
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
