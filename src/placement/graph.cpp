#include "placement/graph.hpp"

#include <algorithm>

namespace tempi::placement {
namespace {

// Counting sort by `source`; both directions of each edge.
void sort_by_vertex(std::span<const Edge> edges, std::vector<std::size_t>& begins, std::vector<Neighbour>& neighbours) {
  const auto counts = [](const Edge& edge) { return edge.source != edge.target && edge.weight > 0; };
  const auto count_of = [&](int vertex) -> std::size_t& { return begins[static_cast<std::size_t>(vertex) + 1]; };
  for (const Edge& edge : edges) {
    if (counts(edge)) ++count_of(edge.source), ++count_of(edge.target);
  }
  for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  neighbours.resize(begins.back());
  std::vector<std::size_t> next = begins;
  for (const Edge& edge : edges) {
    if (!counts(edge)) continue;
    neighbours[next[static_cast<std::size_t>(edge.source)]++] = {edge.target, edge.weight};
    neighbours[next[static_cast<std::size_t>(edge.target)]++] = {edge.source, edge.weight};
  }
}

// Adds up repeated neighbours of [first, last), sorted by vertex; writes them to `into` and returns their end.
using Iterator = std::vector<Neighbour>::iterator;
Iterator join(Iterator first, Iterator last, Iterator into) {
  std::sort(first, last, [](const Neighbour& a, const Neighbour& b) { return a.vertex < b.vertex; });
  const Iterator begin = into;
  for (; first != last; ++first) {
    if (into != begin && (into - 1)->vertex == first->vertex) (into - 1)->weight += first->weight;
    else *into++ = *first;
  }
  return into;
}

}  // namespace

Graph::Graph(int n_vertices, std::span<const Edge> edges) : begins_(static_cast<std::size_t>(n_vertices) + 1, 0) {
  sort_by_vertex(edges, begins_, neighbours_);
  const auto at = [&](std::size_t i) { return neighbours_.begin() + static_cast<std::ptrdiff_t>(i); };
  std::size_t end = 0;
  for (std::size_t i = 0; i + 1 < begins_.size(); ++i) {
    const std::size_t begin = begins_[i];
    begins_[i] = end;
    end = static_cast<std::size_t>(join(at(begin), at(begins_[i + 1]), at(end)) - neighbours_.begin());
  }
  begins_.back() = end;
  neighbours_.resize(end);
}

std::int64_t weight_between(const Graph& graph, const Groups& groups) {
  std::int64_t twice = 0;
  for (int vertex = 0; vertex < graph.size(); ++vertex) {
    for (const Neighbour& other : graph.neighbours(vertex)) {
      const bool is_between =
          groups[static_cast<std::size_t>(vertex)] != groups[static_cast<std::size_t>(other.vertex)];
      if (is_between) twice += other.weight;
    }
  }
  return twice / 2;
}

Graph contracted(const Graph& graph, const Groups& groups, int n_groups) {
  std::vector<Edge> edges;
  for (int vertex = 0; vertex < graph.size(); ++vertex) {
    for (const Neighbour& other : graph.neighbours(vertex)) {
      if (vertex > other.vertex) continue;  // once
      const int mine = groups[static_cast<std::size_t>(vertex)],
                theirs = groups[static_cast<std::size_t>(other.vertex)];
      if (mine != theirs) edges.push_back({mine, theirs, other.weight});
    }
  }
  return Graph(n_groups, edges);
}

}  // namespace tempi::placement
