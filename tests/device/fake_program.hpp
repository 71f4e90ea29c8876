// For programs with their own copy of the fake device.
#pragma once

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "device/fake/fake.hpp"

// device.cpp has them, which needs a configured build; one file of a program includes this.
const char* tempi::device::name(MemoryKind) { return ""; }
void tempi::device::Scope::settle() const noexcept try { finish(); } catch (...) {
}

inline const char* outcome_of(const auto& action) {
  try {
    action();
    return "done";
  } catch (const tempi::Error&) {
    return "failed";
  }
}

inline char* pinned_copy(const char (&text)[8]) {
  auto* const copy =
      static_cast<char*>(tempi::device::fake_allocate(tempi::device::MemoryKind::pinned, 0, sizeof text));
  std::copy(std::begin(text), std::end(text), copy);
  return copy;
}
