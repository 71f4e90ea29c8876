// The shortest way through: a process without a GPU in use, in which nothing is pending or managed.
#pragma once

#include <atomic>

#include "base/loaded_libraries.hpp"
#include "message/engine.hpp"
#include "types/types.hpp"

namespace tempi::message {

// The last loaded library at the time when this process had no device and no messages of ours; null: unknown. A process
// gets a GPU by loading the driver's library, which then comes after it in the list.
extern std::atomic<const link_map*> quiet_since;
void look_whether_quiet() noexcept;  // there are no messages of ours without a device

inline bool is_quiet() noexcept {
  return is_last_library(quiet_since.load(std::memory_order_acquire)) && !may_use_wrong_types();
}

// True if messages pass to the library untouched and no engine work is due.
inline bool passes_messages() noexcept { return is_quiet() && Engine::is_idle(); }

}  // namespace tempi::message
