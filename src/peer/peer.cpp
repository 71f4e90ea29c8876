#include "peer/peer.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/device.hpp"
#include "mpi/real.hpp"
#include "peer/members.hpp"
#include "peer/world.hpp"

namespace tempi::peer {
namespace {

using model::Locality;
using model::Peer;

// MPI_UNDEFINED for an invalid rank: the program's own call will report it.
int world_rank(Handle comm, int rank) {
  const Real& mpi = real_pmpi();
  int is_inter = 0, size = 0, translated = MPI_UNDEFINED;
  Handle theirs = 0, all = 0;
  if (mpi.MPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS) return translated;
  (is_inter != 0 ? mpi.MPI_Comm_remote_size : mpi.MPI_Comm_size)(comm, &size);
  if (rank >= size) return translated;
  (is_inter != 0 ? mpi.MPI_Comm_remote_group : mpi.MPI_Comm_group)(comm, &theirs);
  mpi.MPI_Comm_group(comm_world(), &all);
  mpi.MPI_Group_translate_ranks(theirs, 1, &rank, all, &translated);
  mpi.MPI_Group_free(&theirs);
  mpi.MPI_Group_free(&all);
  return translated;
}

Resolved resolve(const World& world, Handle comm, int rank) {
  const int in_world = world_rank(comm, rank);
  return in_world >= 0 ? Resolved{world.at(in_world), in_world} : Resolved{};  // MPI_UNDEFINED is negative
}

Resolved resolve_once(const World& world, Handle comm, int rank) noexcept try {
  const Resolved found = resolve(world, comm, rank);
  if (const Members* const members = watched_members(comm)) {
    members->by_rank.insert(static_cast<std::uintptr_t>(rank), std::make_unique<const Resolved>(found));
  }
  return found;
} catch (...) {
  warn_fallback("a peer is treated as on another node", caught_error().what());
  return {};
}

// Of a rank of another communicator than MPI_COMM_WORLD.
Resolved resolved_in(const World& world, Handle comm, int rank) noexcept {
  const Members* const members = known_members(comm);
  const Resolved* const known = members != nullptr ? members->by_rank.find(static_cast<std::uintptr_t>(rank)) : nullptr;
  return known != nullptr ? *known : resolve_once(world, comm, rank);
}

const KnownPeer* find_in(const World& world, Handle comm, int rank) noexcept {
  if (rank < 0) return nullptr;
  return key_of(comm) == world.comm ? world.at(rank) : resolved_in(world, comm, rank).peer;
}

// True: a process of this node, other than this one, is in the group, which is freed.
bool has_others_of_node(const World& world, Handle group) {
  std::vector<int> others = world.ranks;
  std::erase(others, world.rank);
  std::vector<int> found(others.size(), MPI_UNDEFINED);
  Handle all = 0;
  const Real& mpi = real_pmpi();
  mpi.MPI_Comm_group(comm_world(), &all);
  mpi.MPI_Group_translate_ranks(all, static_cast<int>(others.size()), others.data(), group, found.data());
  mpi.MPI_Group_free(&all);
  mpi.MPI_Group_free(&group);
  return std::any_of(found.begin(), found.end(), [](int rank) { return rank != MPI_UNDEFINED; });
}

bool look_for_node_peers(const World& world, Handle comm) {
  const Real& mpi = real_pmpi();
  int is_inter = 0;
  Handle own = 0, remote = 0;
  if (mpi.MPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS) return true;
  mpi.MPI_Comm_group(comm, &own);
  if (is_inter != 0) mpi.MPI_Comm_remote_group(comm, &remote);
  const bool has_own = has_others_of_node(world, own);
  return is_inter != 0 && has_others_of_node(world, remote) ? true : has_own;
}

bool has_node_peers(const World& world, Handle comm) noexcept try {
  if (key_of(comm) == world.comm || key_of(comm) == key_of(comm_self())) return true;
  const Members* const members = known_members(comm);
  if (members == nullptr) return true;
  Members::NodePeers known = members->node_peers.load(std::memory_order_relaxed);
  if (known == Members::NodePeers::unknown) {
    known = look_for_node_peers(world, comm) ? Members::NodePeers::some : Members::NodePeers::none;
    members->node_peers.store(known, std::memory_order_relaxed);
  }
  return known == Members::NodePeers::some;
} catch (...) {  // no memory
  return true;
}

// The GPUs that this process sees: constant from the time that it uses one.
int count_gpus() noexcept {
  static std::atomic<int> known{0};
  device::Device* const device = known.load() == 0 ? device::current() : nullptr;
  if (device != nullptr) known.store(std::max(1, device->facts().count));
  return std::max(1, known.load());
}

// Ranks of one node use its GPUs in turn.
bool share_gpu(int rank_on_node, int other) noexcept {
  const int n_gpus = count_gpus();
  return rank_on_node % n_gpus == other % n_gpus;
}

}  // namespace

bool knows(Handle comm) noexcept {
  const World* const all = world();
  return (all != nullptr && key_of(comm) == all->comm) || known_members(comm) != nullptr;
}

void get_to_know(Handle comm) noexcept try {
  if (!knows(comm)) watched_members(comm);
} catch (...) {
  warn_fallback("the peers of a communicator are looked up for each message", caught_error().what());
}

Attachment* attachment(Handle comm, Attached which, std::unique_ptr<Attachment> (*make)(Handle comm)) noexcept try {
  const Members* members = known_members(comm);
  if (members == nullptr) members = watched_members(comm);
  if (members == nullptr) return nullptr;
  Members::Slot& slot = members->attached[static_cast<std::size_t>(which)];
  if (Attachment* const known = slot.ready.load(std::memory_order_acquire)) return known;
  const std::lock_guard lock(members->mutex);
  if (!slot.owned) slot.owned = make(comm);
  slot.ready.store(slot.owned.get(), std::memory_order_release);
  return slot.owned.get();
} catch (...) {
  warn_fallback("messages on a communicator are packed", caught_error().what());
  return nullptr;
}

int rank_in_world(Handle comm, int rank) noexcept {
  const World* const all = world();
  if (all == nullptr || rank < 0) return -1;
  return key_of(comm) == all->comm ? rank : std::max(-1, world_rank(comm, rank));
}

int find_rank(Handle comm, int rank) noexcept {
  const World* const all = world();
  if (all == nullptr || rank < 0) return -1;
  return key_of(comm) == all->comm ? rank : resolved_in(*all, comm, rank).rank;
}

int own_rank() noexcept {
  const World* const all = world();
  return all != nullptr ? all->rank : -1;
}

bool is_on_this_node(int rank) noexcept {
  const World* const all = world();
  return all != nullptr && all->at(rank)->on_node >= 0;
}

const KnownPeer* find(Handle comm, int rank) noexcept {
  const World* const all = world();
  return all != nullptr ? find_in(*all, comm, rank) : nullptr;
}

bool may_be_node_peer(Handle comm, int rank) noexcept {
  const World* const all = world();
  if (all == nullptr) return false;
  if (rank < 0) return all->here.size() > 1 && has_node_peers(*all, comm);
  const KnownPeer* const peer = find_in(*all, comm, rank);
  return peer != nullptr && peer->on_node >= 0;
}

Peer host_peer(Handle comm, int rank) noexcept {
  if (const KnownPeer* const peer = find(comm, rank)) return peer->place;
  const World* const all = world();
  return all != nullptr ? all->farthest() : Peer::other_node;
}

Locality locality(Handle comm, int rank) noexcept {
  const World* const all = world();
  if (all == nullptr) return Locality::other_node;
  const KnownPeer* const peer = find_in(*all, comm, rank);
  if (peer != nullptr && peer->place == Peer::self) return Locality::self;
  const bool is_near = peer != nullptr ? peer->on_node >= 0 : all->is_all;
  if (!is_near) return Locality::other_node;
  const bool shares = peer != nullptr ? share_gpu(peer->on_node, all->mine()) : count_gpus() == 1;
  return shares ? Locality::same_gpu : Locality::other_gpu;
}

void forget_peers() noexcept {
  forget_members();
  forget_world();
}

}  // namespace tempi::peer
