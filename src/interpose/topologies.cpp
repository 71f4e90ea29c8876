// MPI-4.1, 8.5: the calls that make communicators with a topology. With TEMPI_PLACEMENT and reorder the processes get
// ranks by which heavy edges stay on a node (peer/order.hpp).
#include <limits>

#include "collective/agreement.hpp"
#include "interpose/creation.hpp"
#include "interpose/entry.hpp"
#include "mpi/weights.hpp"
#include "peer/edge_lists.hpp"

namespace tempi::interpose {
namespace {

using peer::Ordered;
using peer::Topology;
using placement::Edge;

// `call(parent, reorder, into)`: the library's call, on the program's communicator or on another order of it.
// `may_be_left_out(parent)`: as for `create`.
template <class Describe, class LeftOut, class Call>
int create_topology(Handle comm, int reorder, void* made, const Describe& describe, const LeftOut& may_be_left_out,
                    const Call& call) noexcept {
  const auto in_order_of = [&](const Ordered& parent) {
    return create(
        comm, made, [&] { return may_be_left_out(parent.comm()); },
        [&](void* into) { return guarded(comm, [&] { return call(parent, parent.reorder(reorder), into); }); },
        &collective::agree_early);
  };
  if (reorder == 0 || !peer::places_ranks()) return in_order_of(Ordered(comm));
  flush_sends();
  return in_order_of(Ordered(comm, describe));
}

constexpr auto kNobody = [](Handle) { return false; };

bool is_outside(Handle parent, Count n_members) {
  int rank = 0;
  return real_pmpi().MPI_Comm_rank(parent, &rank) == MPI_SUCCESS && rank >= n_members;
}

// The processes of a grid; of a wrong one, more than there can be ranks.
Count grid_size(int n_dimensions, const int* dimensions) {
  constexpr Count kMost = std::numeric_limits<int>::max();
  Count size = 1;
  for (int i = 0; i < n_dimensions && size <= kMost; ++i) size *= dimensions[i] > 0 ? dimensions[i] : kMost + 1;
  return size;
}

Topology grid_of(int n, const int* dimensions, const int* periods, int size) {
  const bool is_there = n >= 0 && (n == 0 || (dimensions != nullptr && periods != nullptr));
  if (!is_there || grid_size(n, dimensions) > size) return {};
  placement::Grid grid{{dimensions, dimensions + n}, {}};
  for (int i = 0; i < n; ++i) grid.is_periodic.push_back(periods[i] != 0 ? 1 : 0);
  return {.is_usual = true, .grid = grid};
}

// All processes have the whole graph, and one tells it. index[i]: the end of vertex i in `edges`.
Topology graph_of(int n, const int* index, const int* edges, int size, bool tells) {
  if (n < 0 || n > size || (n > 0 && (index == nullptr || edges == nullptr))) return {};
  Topology graph{.is_usual = true};
  for (int vertex = 0, i = 0; vertex < n; ++vertex) {
    if (index[vertex] < i) return {};
    for (; i < index[vertex]; ++i) {
      if (edges[i] < 0 || edges[i] >= n) return {};
      if (tells) graph.edges.push_back({vertex, edges[i], 1});
    }
  }
  return graph;
}

// The edges of `list` lead from `source` to its ranks.
void append(std::vector<Edge>& edges, int source, const peer::EdgeList& list) {
  for (std::size_t i = 0; i < list.ranks.size(); ++i)
    edges.push_back({source, list.ranks[i], list.is_weighted ? list.weights[i] : 1});
}

// Any process may describe the edges of any vertex.
Topology distributed_graph_of(int n, const int* sources, const int* degrees, const int* destinations,
                              const int* weights, int size) {
  const auto vertices = peer::edge_list(n, sources, unweighted(), size);
  if (!vertices || (n > 0 && degrees == nullptr)) return {};
  Topology graph{.is_usual = true};
  for (int i = 0, begin = 0; i < n; begin += degrees[i++]) {
    const bool is_weighted = weights != unweighted() && weights != weights_empty() && weights != nullptr;
    const auto list = peer::edge_list(degrees[i], destinations + begin, is_weighted ? weights + begin : weights, size);
    if (!list || begin > std::numeric_limits<int>::max() - degrees[i]) return {};
    append(graph.edges, sources[i], *list);
  }
  return graph;
}

struct Adjacent {
  int n_in;
  const int *sources, *source_weights;
  int n_out;
  const int *destinations, *destination_weights;
};

std::optional<peer::EdgeLists> lists_of(const Adjacent& given, int size) {
  const auto in = peer::edge_list(given.n_in, given.sources, given.source_weights, size);
  const auto out = peer::edge_list(given.n_out, given.destinations, given.destination_weights, size);
  if (!in || !out) return std::nullopt;
  return peer::EdgeLists{*in, *out};
}

// Each edge is told by both of its ends; we take it from its source.
Topology adjacent_graph_of(Handle comm, const Adjacent& given, int size) {
  const auto lists = lists_of(given, size);
  int rank = 0;
  if (!lists || real_pmpi().MPI_Comm_rank(comm, &rank) != MPI_SUCCESS) return {};
  Topology graph{.is_usual = true};
  append(graph.edges, rank, lists->out);
  return graph;
}

template <class Call>
int with_lists(const Ordered& parent, const Adjacent& given, const Call& call) {
  if (!parent.is_other()) return call(given);
  const auto lists = peer::moved(*lists_of(given, std::numeric_limits<int>::max()), parent);
  return call({static_cast<int>(lists.in.ranks.size()), lists.in.ranks.data(), lists.in.weights_argument(),
               static_cast<int>(lists.out.ranks.size()), lists.out.ranks.data(), lists.out.weights_argument()});
}

int create_adjacent(const Real& real, Handle comm, const Adjacent& given, Handle info, int reorder,
                    void* made) noexcept {
  return create_topology(
      comm, reorder, made, [&](int size) { return adjacent_graph_of(comm, given, size); }, kNobody,
      [&](const Ordered& parent, int reorders, void* into) {
        return with_lists(parent, given, [&](const Adjacent& own) {
          return call_if_there(real.MPI_Dist_graph_create_adjacent, parent.comm(), own.n_in, own.sources,
                               own.source_weights, own.n_out, own.destinations, own.destination_weights, info, reorders,
                               into);
        });
      });
}

}  // namespace

TEMPI_ENTRY(MPI_Cart_create,
            (Handle comm, int n_dimensions, const int* dimensions, const int* periods, int reorder, void* made),
            create_topology(
                comm, reorder, made, [&](int size) { return grid_of(n_dimensions, dimensions, periods, size); },
                [&](Handle parent) { return is_outside(parent, grid_size(n_dimensions, dimensions)); },
                [&](const Ordered& parent, int reorders, void* into) {
                  return real.MPI_Cart_create(parent.comm(), n_dimensions, dimensions, periods, reorders, into);
                }))

TEMPI_ENTRY(MPI_Cart_sub, (Handle comm, const int* remains, void* made),
            create(
                comm, made, kNever, [&](void* into) { return real.MPI_Cart_sub(comm, remains, into); },
                &collective::agree_early))

TEMPI_ENTRY(MPI_Graph_create, (Handle comm, int n_nodes, const int* index, const int* edges, int reorder, void* made),
            create_topology(
                comm, reorder, made,
                [&](int size) { return graph_of(n_nodes, index, edges, size, !is_outside(comm, 1)); },
                [&](Handle parent) { return is_outside(parent, n_nodes); },
                [&](const Ordered& parent, int reorders, void* into) {
                  return real.MPI_Graph_create(parent.comm(), n_nodes, index, edges, reorders, into);
                }))

TEMPI_ENTRY(MPI_Dist_graph_create,
            (Handle comm, int n, const int* sources, const int* degrees, const int* destinations, const int* weights,
             Handle info, int reorder, void* made),
            create_topology(
                comm, reorder, made,
                [&](int size) { return distributed_graph_of(n, sources, degrees, destinations, weights, size); },
                kNobody,
                [&](const Ordered& parent, int reorders, void* into) {
                  return call_if_there(real.MPI_Dist_graph_create, parent.comm(), n, sources, degrees, destinations,
                                       weights, info, reorders, into);
                }))

TEMPI_ENTRY(MPI_Dist_graph_create_adjacent,
            (Handle comm, int n_in, const int* sources, const int* source_weights, int n_out, const int* destinations,
             const int* destination_weights, Handle info, int reorder, void* made),
            create_adjacent(real, comm, {n_in, sources, source_weights, n_out, destinations, destination_weights}, info,
                            reorder, made))

}  // namespace tempi::interpose
