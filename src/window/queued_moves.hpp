// Moves of MPI_Put and MPI_Get between GPU buffers, which share launches. They are launched, at the latest, when a call
// completes the accesses of the window. Until then, the program changes no buffer of MPI_Put, and reads no buffer of
// MPI_Get (MPI-4.1, 12.3).
//
// Example: a halo exchange makes 26 calls of MPI_Put between two calls of MPI_Win_fence. The second MPI_Win_fence moves
// them: by 26 launches the first time, and by one launch when the same calls are repeated (pack/merged.hpp).
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
  QueuedMoves(const QueuedMoves&) = delete;
  QueuedMoves& operator=(const QueuedMoves&) = delete;

  // Launches the added moves if they have many bytes together.
  void add(KernelMove move);
  // On return, each added move is complete or has failed.
  void finish() noexcept;
  // The failure of a move, which a completing call returns to the program. Each failure is returned once.
  std::optional<Error> take_failure() noexcept;

 private:
  // Kernels use what these objects own.
  struct Launched {
    std::vector<KernelMove> moves;
    pack::Queued queued;
  };

  void launch() noexcept;
  template <class Step>
  void attempt(const Step& step) noexcept;

  Mutex<Lock::window_moves> mutex_;
  std::vector<KernelMove> waiting_;
  std::int64_t waiting_bytes_ = 0;
  std::vector<Launched> launched_;
  std::optional<Error> failure_;
};

}  // namespace tempi::window
