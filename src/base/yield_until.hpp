// Waiting for another thread or process that wakes nobody.
#pragma once

#include <chrono>
#include <thread>

namespace tempi {

// Looks until is_done(), or until `end`. Between looks go_on() is called: whoever is waited for may need it. False: the
// time is over.
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
