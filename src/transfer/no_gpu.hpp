// The fast path of a process that uses no GPU.
#pragma once

#include <atomic>

#include "base/loaded_libraries.hpp"
#include "peer/peer.hpp"
#include "types/types.hpp"

namespace tempi::message {

// The newest loaded library at the time when TEMPI found that this process uses no GPU; null: not known. To use a GPU,
// a process must load the library of the driver. Therefore, TEMPI checks again if another library was loaded since.
extern std::atomic<const link_map*> without_gpu_since;
// In a process that uses no GPU: TEMPI may pack messages of derived datatypes in host memory.
extern std::atomic<bool> packs_host_memory;
void look_whether_without_gpu() noexcept;
void forget_without_gpu() noexcept;

inline bool is_without_gpu() noexcept {
  return is_last_library(without_gpu_since.load(std::memory_order_acquire)) && !may_use_wrong_types();
}

// True for a message in host memory in two cases: it is contiguous, or TEMPI has passed an earlier message with this
// datatype and count to the library.
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

}  // namespace tempi::message
