#include "peer/world.hpp"

#include <memory>
#include <mutex>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "mpi/own_comm.hpp"
#include "mpi/real.hpp"
#include "peer/node.hpp"

namespace tempi::peer {
namespace {

std::unique_ptr<const World> find_world() {
  int size = 0, rank = 0;
  real_pmpi().MPI_Comm_size(comm_world(), &size);
  real_pmpi().MPI_Comm_rank(comm_world(), &rank);
  auto found = std::make_unique<World>(World{.comm = key_of(comm_world()), .rank = rank});
  found->ranks = ranks_of_node(rank, size);
  found->is_all = found->ranks.size() == static_cast<std::size_t>(size);
  for (const int one : found->ranks) {
    const auto place = one == rank ? model::Peer::self : model::Peer::same_node;
    found->here.push_back({place, static_cast<int>(found->here.size())});
  }
  return found;
}

}  // namespace

std::atomic<const World*> known_world{nullptr};

// Never freed: another thread may be reading it.
const World* look_for_world() noexcept try {
  static auto& mutex = *new Mutex<Lock::world>;
  const std::lock_guard lock(mutex);
  if (known_world.load() == nullptr && has_world())
    known_world.store(find_world().release(), std::memory_order_release);
  return known_world.load();
} catch (...) {
  warn_fallback("a peer is treated as on another node", caught_error().what());
  return nullptr;
}

void forget_world() noexcept { known_world.store(nullptr); }

}  // namespace tempi::peer
