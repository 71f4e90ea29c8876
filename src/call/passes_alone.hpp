// The shortest way through, of a process without a GPU in use and without pending messages (transfer/no_gpu.hpp).
#pragma once

#include "request/engine.hpp"
#include "transfer/no_gpu.hpp"

namespace tempi::message {

// A message that the library gets untouched, of a call that goes behind pending sends, or may complete messages: TEMPI
// has nothing else to do in it.
inline bool passes_alone(Handle datatype, Count count, int peer, Handle comm) noexcept {
  return passes(datatype, count, peer, comm) && Engine::is_idle();
}

// The same for a call that concerns no message.
inline bool passes_alone() noexcept { return is_without_gpu() && Engine::is_idle(); }

}  // namespace tempi::message
