// The communicators that this process has used. The data of a communicator is removed when the communicator is
// destroyed, because MPI reuses handles.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "base/handle_map.hpp"
#include "base/mutex.hpp"
#include "peer/peer.hpp"

namespace tempi::peer {

struct Resolved {
  const KnownPeer* peer = nullptr;  // null: the rank has none
  int rank = -1;                    // in MPI_COMM_WORLD; negative if it has none
};

// ids.hpp
struct Lineage {
  std::atomic<std::uint64_t> id{0};
  std::atomic<std::uint64_t> n_creations{0};
  std::atomic<bool> has_lost_count{false};
};

// A communicator: its ranks that have been resolved. Few programs send to many ranks of many communicators.
struct Members {
  static constexpr std::size_t kSlots = 16;
  mutable HandleMap<Resolved> by_rank{kSlots};
  mutable Mutex<Lock::members> mutex{};
  struct Slot {
    std::unique_ptr<Attachment> owned{};  // made under the mutex
    std::atomic<Attachment*> ready{};     // the same object, for readers without the mutex
  };
  mutable std::array<Slot, static_cast<std::size_t>(Attached::count_)> attached{};
  enum class NodePeers : std::uint8_t { unknown, none, some };
  mutable std::atomic<NodePeers> node_peers{NodePeers::unknown};  // members on this node, other than this process
  mutable Lineage lineage{};
};

const Members* known_members(Handle comm) noexcept;

// The data of a valid communicator, made at the first call. Null: TEMPI cannot watch the
// destruction of the communicator.
const Members* watched_members(Handle comm);

void forget_members() noexcept;

}  // namespace tempi::peer
