// Waits for other members. They may depend on this process, so the library and pending sends make progress during the
// wait.
#pragma once

#include <chrono>

#include "base/yield_until.hpp"
#include "collective/blocks.hpp"
#include "mpi/progress.hpp"
#include "request/progress.hpp"

namespace tempi::collective {

using Clock = std::chrono::steady_clock;

inline constexpr int kSpins = 200;  // looks before the first call of the library

// Polls until is_done() returns true, or until the time limit. False: the time limit is over. Throws Refused.
template <class Fn>
bool wait_until(Clock::time_point end, const Fn& is_done) {
  for (int i = 0; i < kSpins; ++i) {
    if (is_done()) return true;
  }
  return yield_until(end, is_done, [] {
    message::make_progress();
    if (const int code = let_library_go_on(); code != MPI_SUCCESS) throw Refused{code};
  });
}

}  // namespace tempi::collective
