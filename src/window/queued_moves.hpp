// Moves of MPI_Put and MPI_Get, which share launches. They are complete when a call completes the accesses of the
// window. Until then, the program changes no buffer of MPI_Put, and reads no buffer of MPI_Get (MPI-4.1, 12.3).
//
// Example: a halo exchange with 26 MPI_Put between two calls of MPI_Win_fence is one launch, in the second call.
#pragma once

#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "window/moves.hpp"

namespace tempi::window {

class QueuedMoves {
 public:
  QueuedMoves() = default;
  ~QueuedMoves();  // drops moves that are not launched
  QueuedMoves(const QueuedMoves&) = delete;
  QueuedMoves& operator=(const QueuedMoves&) = delete;

  // Moves that have many bytes together are launched at once. Throws Error.
  void add(KernelMove move);
  // All added moves are complete on return. Returns the error of one that has failed.
  [[nodiscard]] std::optional<Error> finish() noexcept;

 private:
  // Launched moves: their kernels use what these objects own.
  struct Launched {
    std::vector<KernelMove> moves;
    pack::Queued queued;
  };

  void launch();

  Mutex<Lock::window_moves> mutex_;
  std::vector<KernelMove> waiting_;
  std::int64_t waiting_bytes_ = 0;
  std::vector<Launched> launched_;
};

}  // namespace tempi::window
