// The shim is active, or it passes all calls on.
#pragma once

#include <atomic>

namespace tempi {

// Off: TEMPI_DISABLE is set, or the MPI library has another ABI. If TEMPI is off, it passes every
// call on unchanged.
enum class State { unknown, on, off };
extern std::atomic<State> known_state;
bool find_whether_active() noexcept;

inline bool active() noexcept {
  const State known = known_state.load(std::memory_order_relaxed);
  return known == State::on || (known == State::unknown && find_whether_active());
}

}  // namespace tempi
