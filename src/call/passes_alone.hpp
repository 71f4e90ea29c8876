// The fastest path of a call: the process uses no GPU and has no pending messages (transfer/no_gpu.hpp).
#pragma once

#include "request/progress.hpp"
#include "transfer/no_gpu.hpp"

namespace tempi::message {

// True: the library gets the message unchanged, and TEMPI has nothing else to do in the call, such as starting pending
// sends or completing messages.
inline bool passes_alone(Handle datatype, Count count, int peer, Handle comm) noexcept {
  return passes(datatype, count, peer, comm) && is_idle();
}

// The same for a call without a message.
inline bool passes_alone() noexcept { return is_without_gpu() && is_idle(); }

}  // namespace tempi::message
