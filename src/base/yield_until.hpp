// Waits by polling, for another thread or process that sends no wake-up.
#pragma once

#include <chrono>
#include <thread>

namespace tempi {

// Polls until is_done() returns true, or until the time `end`. Calls go_on() between two polls,
// because the other thread or process may depend on this call. False: the time is over.
template <class Done, class GoOn>
bool yield_until(std::chrono::steady_clock::time_point end, const Done& is_done, const GoOn& go_on) {
  for (;; std::this_thread::yield()) {
    if (is_done()) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    go_on();
  }
}

template <class Done>
bool yield_until(std::chrono::steady_clock::time_point end, const Done& is_done) {
  return yield_until(end, is_done, [] {});
}

inline constexpr auto kForever = std::chrono::steady_clock::time_point::max();

}  // namespace tempi
