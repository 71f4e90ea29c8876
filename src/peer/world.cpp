#include "peer/world.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "mpi/real.hpp"

namespace tempi::peer {
namespace {

bool has_world() {
  int began = 0, ended = 0;
  const Real& mpi = real_pmpi();
  const bool is_told = mpi.MPI_Initialized(&began) == MPI_SUCCESS && mpi.MPI_Finalized(&ended) == MPI_SUCCESS;
  return is_told && began != 0 && ended == 0;
}

// Nodes with as many ranks each hold blocks of that many. The launcher's local rank does not tell the place within the
// block: PRRTE numbers the ranks of a node by the cores that they are bound to.
std::unique_ptr<const World> find_world() {
  int size = 0, rank = 0;
  real_pmpi().MPI_Comm_size(comm_world(), &size);
  real_pmpi().MPI_Comm_rank(comm_world(), &rank);
  const NodeRanks told = ranks_on_node(), node = size == 1 || told.count == 0 ? NodeRanks{1, 0} : told;
  auto found = std::make_unique<World>(World{.comm = key_of(comm_world())});
  const int count = static_cast<int>(node.count);
  found->first = size % count == 0 ? rank / count * count : std::max(0, rank - static_cast<int>(node.mine));
  found->mine = rank - found->first;
  found->is_all = node.count >= size;
  found->here.resize(static_cast<std::size_t>(std::max(count, found->mine + 1)), {model::Peer::same_node});
  for (std::size_t i = 0; i < found->here.size(); ++i) found->here[i].on_node = static_cast<int>(i);
  found->here[static_cast<std::size_t>(found->mine)].place = model::Peer::self;
  return found;
}

}  // namespace

std::atomic<const World*> known_world{nullptr};

// Never freed: another thread may be reading it.
const World* look_for_world() noexcept try {
  static auto& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  if (known_world.load() == nullptr && has_world())
    known_world.store(find_world().release(), std::memory_order_release);
  return known_world.load();
} catch (...) {
  warn_fallback("a peer is taken to be on another node", caught_error().what());
  return nullptr;
}

void forget_world() noexcept { known_world.store(nullptr); }

}  // namespace tempi::peer
