#include "peer/order.hpp"

#include <algorithm>
#include <climits>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "mpi/active.hpp"
#include "mpi/real.hpp"

namespace tempi::peer {
namespace {

using placement::Edge;
using placement::Groups;

constexpr int kRoot = 0;

// A process, as rank 0 learns of it.
struct Head {
  int node;  // the rank of its first process
  int is_usual;
  std::int64_t n_edges;
};

enum class Verdict : int { untouched, place };

// The place of one process.
struct Place {
  int rank;    // in the new order
  int source;  // Ordered::source
};

struct Parent {
  Handle comm;
  int rank = 0, size = 0;
  bool is_root() const { return rank == kRoot; }
};

void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw Error(ErrorKind::unexpected, std::string(call) + " failed");
}

void free_comm(Handle comm) { real_pmpi().MPI_Comm_free(&comm); }

template <class T>
int bytes_of(std::size_t n) {
  return static_cast<int>(n * sizeof(T));
}

int first_of_node(const Parent& parent) {
  const Real& mpi = real_pmpi();
  Handle node = 0;
  check(mpi.MPI_Comm_split_type(parent.comm, MPI_COMM_TYPE_SHARED, parent.rank, info_null(), &node),
        "MPI_Comm_split_type");
  int first = parent.rank;
  const int code = mpi.MPI_Bcast(&first, sizeof first, type_byte(), 0, node);
  free_comm(node);
  check(code, "MPI_Bcast");
  return first;
}

// Told by rank 0 to all.
Verdict verdict_on(const std::vector<Head>& heads) {
  std::vector<int> nodes;
  std::int64_t n_edges = 0;
  for (const Head& head : heads) {
    if (head.is_usual == 0) return Verdict::untouched;
    nodes.push_back(head.node);
    n_edges += head.n_edges;
  }
  std::sort(nodes.begin(), nodes.end());
  const auto n_nodes = static_cast<std::size_t>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
  const bool is_open = n_nodes > 1 && n_nodes < heads.size();
  constexpr std::int64_t kMostEdges = INT_MAX / sizeof(Edge);  // MPI counts the bytes
  return is_open && n_edges <= kMostEdges ? Verdict::place : Verdict::untouched;
}

std::vector<Head> gather_heads(const Parent& parent, const Head& mine) {
  std::vector<Head> heads(parent.is_root() ? static_cast<std::size_t>(parent.size) : 0);
  check(real_pmpi().MPI_Gather(&mine, sizeof mine, type_byte(), heads.data(), sizeof mine, type_byte(), kRoot,
                               parent.comm),
        "MPI_Gather");
  return heads;
}

std::vector<Edge> gather_edges(const Parent& parent, const std::vector<Edge>& mine, const std::vector<Head>& heads) {
  std::vector<int> counts, begins;
  std::size_t n = 0;
  for (const Head& head : heads) {
    begins.push_back(bytes_of<Edge>(n));
    counts.push_back(bytes_of<Edge>(static_cast<std::size_t>(head.n_edges)));
    n += static_cast<std::size_t>(head.n_edges);
  }
  std::vector<Edge> edges(n);
  check(real_pmpi().MPI_Gatherv(mine.data(), bytes_of<Edge>(mine.size()), type_byte(), edges.data(), counts.data(),
                                begins.data(), type_byte(), kRoot, parent.comm),
        "MPI_Gatherv");
  return edges;
}

// Rank 0 computes the places. Without memory for more, all processes keep their ranks.
std::vector<Place> places_of(const Topology& topology, const std::vector<Edge>& edges, const std::vector<Head>& heads) {
  std::vector<Place> places(heads.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = {static_cast<int>(i), static_cast<int>(i)};
  try {
    Groups nodes;
    for (const Head& head : heads) nodes.push_back(head.node);
    const int n = static_cast<int>(heads.size());
    const std::vector<int> ranks = topology.grid ? placement::ranks_for(*topology.grid, nodes)
                                                 : placement::ranks_for(placement::Graph(n, edges), nodes);
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = {ranks[i], ranks[static_cast<std::size_t>(ranks[i])]};
  } catch (...) {
    warn_fallback("all processes of a topology keep their ranks", caught_error().what());
  }
  return places;
}

// True on all processes if any of them gets another rank.
bool scatter_places(const Parent& parent, const std::vector<Place>& places, Place& mine) {
  const Real& mpi = real_pmpi();
  int n_moved = 0;
  for (std::size_t i = 0; i < places.size(); ++i) n_moved += places[i].rank != static_cast<int>(i) ? 1 : 0;
  check(mpi.MPI_Bcast(&n_moved, sizeof n_moved, type_byte(), kRoot, parent.comm), "MPI_Bcast");
  if (parent.is_root() && logs(LogLevel::info)) {
    log(LogLevel::info, "placement: " + std::to_string(n_moved) + " of " + std::to_string(parent.size) +
                            " processes of a topology get another rank");
  }
  if (n_moved == 0) return false;
  check(mpi.MPI_Scatter(places.data(), sizeof mine, type_byte(), &mine, sizeof mine, type_byte(), kRoot, parent.comm),
        "MPI_Scatter");
  return true;
}

Handle split(const Parent& parent, int rank) {
  Handle ordered = comm_null();  // which stays if MPICH reports success of a failed call
  check(real_pmpi().MPI_Comm_split(parent.comm, 0, rank, &ordered), "MPI_Comm_split");
  if (key_of(ordered) == key_of(comm_null())) throw Error(ErrorKind::unexpected, "MPI_Comm_split failed");
  return key_of(ordered);
}

bool has_vertices(Handle comm) {
  int is_inter = 1;
  if (key_of(comm) == key_of(comm_null())) return false;
  return real_pmpi().MPI_Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && is_inter == 0;
}

Topology described(const std::function<Topology(int size)>& describe, int size) noexcept try {
  return describe(size);
} catch (...) {
  return {};
}

}  // namespace

bool places_ranks() noexcept { return active() && flag(Option::PLACEMENT); }

Ordered::Ordered(Handle parent, const std::function<Topology(int size)>& describe) noexcept : comm_(parent) {
  try {
    if (has_vertices(parent)) find(describe);
  } catch (...) {
    warn_fallback("all processes of a topology keep their ranks", caught_error().what());
  }
}

Ordered::~Ordered() {
  if (is_other_) free_comm(comm_);
}

void Ordered::find(const std::function<Topology(int size)>& describe) {
  const Real& mpi = real_pmpi();
  Parent parent{comm_};
  check(mpi.MPI_Comm_rank(comm_, &parent.rank), "MPI_Comm_rank");
  check(mpi.MPI_Comm_size(comm_, &parent.size), "MPI_Comm_size");
  if (parent.size == 1) return;
  const Topology topology = described(describe, parent.size);
  const Head mine{first_of_node(parent), topology.is_usual ? 1 : 0, static_cast<std::int64_t>(topology.edges.size())};
  const std::vector<Head> heads = gather_heads(parent, mine);
  auto verdict = parent.is_root() ? verdict_on(heads) : Verdict::untouched;
  check(mpi.MPI_Bcast(&verdict, sizeof verdict, type_byte(), kRoot, comm_), "MPI_Bcast");
  if (verdict == Verdict::untouched) return;
  const std::vector<Edge> edges = gather_edges(parent, topology.edges, heads);
  Place place{};
  is_decided_ = true;
  const std::vector<Place> places = parent.is_root() ? places_of(topology, edges, heads) : std::vector<Place>();
  if (!scatter_places(parent, places, place)) return;
  comm_ = split(parent, place.rank);
  is_other_ = true;
  former_rank_ = parent.rank;
  source_ = place.source;
}

}  // namespace tempi::peer
