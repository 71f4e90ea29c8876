// Whether calls are handled at all, and the beginning and end of that.
#pragma once

#include <atomic>

namespace tempi::interpose {

// False: TEMPI_DISABLE, or an MPI library of another ABI. Then every call goes on untouched.
enum class State { unknown, on, off };
extern std::atomic<State> known_state;
bool find_whether_active() noexcept;

inline bool active() noexcept {
  const State known = known_state.load(std::memory_order_relaxed);
  return known == State::on || (known == State::unknown && find_whether_active());
}

// After MPI has been initialised: tells once (on rank 0, where there is a world) what the user should know is off.
enum class World { yes, no };
void announce(World world) noexcept;

// Before MPI shuts down: everything that we hold is given back.
void shut_down() noexcept;

}  // namespace tempi::interpose
