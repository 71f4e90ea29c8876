// The shortest way through: a process without a GPU in use, in which nothing is pending or managed.
#pragma once

#include <atomic>

#include "base/loaded_libraries.hpp"
#include "message/engine.hpp"
#include "types/types.hpp"

namespace tempi::message {

// The last library that was loaded when this process was found to have no device and no messages of ours; null:
// unknown. A process comes by a GPU with the driver's library, which is then behind it.
extern std::atomic<const link_map*> quiet_since;
void look_whether_quiet() noexcept;  // there are no messages of ours without a device

inline bool is_quiet() noexcept {
  return is_last_library(quiet_since.load(std::memory_order_acquire)) && !may_use_wrong_types();
}

// Messages go to the library untouched, and nothing is to be done beside.
inline bool passes_messages() noexcept { return is_quiet() && Engine::is_idle(); }

}  // namespace tempi::message
