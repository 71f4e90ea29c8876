#include "peer/node.hpp"

#include <algorithm>
#include <numeric>

#include "base/launcher.hpp"
#include "mpi/real.hpp"
#include "peer/pmix.hpp"

namespace tempi::peer {
namespace {

using Ranks = std::vector<int>;

// Of the launcher that the MPI library belongs to; another one's may be inherited. 0: it does not tell.
std::int64_t told_count() { return count_on_node(is_open_mpi() ? "OMPI_COMM_WORLD_LOCAL_SIZE" : "MPI_LOCALNRANKS"); }

bool is_credible(const Ranks& ranks, int rank, int size, std::int64_t count) {
  const bool fits = count == 0 || count == static_cast<std::int64_t>(ranks.size());
  const bool is_set = std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end();
  return fits && is_set && std::binary_search(ranks.begin(), ranks.end(), rank) && ranks.back() < size;
}

Ranks all_ranks(int size) {
  Ranks ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

Ranks ranks_of_node(int rank, int size) {
  if (size == 1) return {0};
  const std::int64_t count = told_count();
  for (const auto& source : {ranks_by_pmix, ranks_by_hydra, ranks_by_slurm}) {
    const Ranks ranks = source();
    if (!ranks.empty()) return is_credible(ranks, rank, size, count) ? ranks : Ranks{rank};
  }
  return count == size ? all_ranks(size) : Ranks{rank};
}

}  // namespace tempi::peer
