// The switch of the whole shim: are calls handled at all?
#pragma once

#include <atomic>

namespace tempi {

// Off: TEMPI_DISABLE, or an MPI library of another ABI. Then every call goes on untouched.
enum class State { unknown, on, off };
extern std::atomic<State> known_state;
bool find_whether_active() noexcept;

inline bool active() noexcept {
  const State known = known_state.load(std::memory_order_relaxed);
  return known == State::on || (known == State::unknown && find_whether_active());
}

}  // namespace tempi
