// Pending collective calls. MPI calls advance them, and the progress thread advances them while the program makes no
// MPI call. collective/ includes request/, so request/ calls the functions of collective/ through these pointers.
#pragma once

#include <atomic>
#include <cstdint>

namespace tempi::message {

struct CollectiveWork {
  void (*go_on)() noexcept;             // called in MPI calls
  bool (*advance)() noexcept;           // called by the progress thread; true: it has made a step
  bool (*is_left)() noexcept;           // asked by the progress thread: a collective call is pending
  std::uint64_t (*n_go_on)() noexcept;  // this number changes with each call of go_on that finds work
};
// Null: there has been no pending collective call yet.
inline std::atomic<const CollectiveWork*> collective_work{nullptr};

}  // namespace tempi::message
