// The fast path of a process that uses no GPU.
#pragma once

#include <atomic>

#include "base/loaded_libraries.hpp"
#include "peer/peer.hpp"
#include "transfer/engine.hpp"
#include "types/types.hpp"

namespace tempi::message {

// The last library that was loaded when this process was found to have no device; null: unknown. If another library was
// loaded since, TEMPI looks again: to use a GPU, a process must load the driver's library.
extern std::atomic<const link_map*> without_gpu_since;
// Messages of derived datatypes in host memory may be packed. Of a process without a GPU in use.
extern std::atomic<bool> packs_host_memory;
void look_whether_without_gpu() noexcept;
void forget_without_gpu() noexcept;

inline bool is_without_gpu() noexcept {
  return is_last_library(without_gpu_since.load(std::memory_order_acquire)) && !may_use_wrong_types();
}

// A message in host memory that is contiguous, or whose count was found to be the library's before.
inline bool is_for_library(const KnownType& type, Count count, int peer, Handle comm) noexcept {
  if (type.is_dense) return true;
  if (!peer::knows(comm)) return false;
  const auto where = static_cast<std::size_t>(peer::host_peer(comm, peer));
  return type.library_counts[where].load(std::memory_order_relaxed) == count;
}

// True for a message that TEMPI passes to the library unchanged.
inline bool passes(Handle datatype, Count count, int peer, Handle comm) noexcept {
  if (!is_without_gpu()) return false;
  if (!packs_host_memory.load(std::memory_order_relaxed)) return true;
  const KnownType* const type = find_type(datatype);
  return type != nullptr && is_for_library(*type, count, peer, comm);
}

// The same for a call that must come after pending sends, or that may complete messages: true if TEMPI has nothing to
// do before or after it.
inline bool passes_alone(Handle datatype, Count count, int peer, Handle comm) noexcept {
  return passes(datatype, count, peer, comm) && Engine::is_idle();
}

// The same for a call that concerns no message.
inline bool passes_alone() noexcept { return is_without_gpu() && Engine::is_idle(); }

}  // namespace tempi::message
