// The libraries that the process has loaded. The loader appends new libraries to its list. If the last one has no
// successor, no library was loaded since.
#pragma once

#include <link.h>

namespace tempi {

// The last loaded library, kept loaded from now on, so that its entry may be read at any time. Null on failure.
const link_map* hold_last_library() noexcept;

inline bool is_last_library(const link_map* library) noexcept {
  return library != nullptr && __atomic_load_n(&library->l_next, __ATOMIC_ACQUIRE) == nullptr;
}

}  // namespace tempi
