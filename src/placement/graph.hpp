// The vertices of a communication graph, and the weights of the edges between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tempi::placement {

struct Edge {
  int source, target;
  std::int64_t weight;  // not negative
};

struct Neighbour {
  int vertex;
  std::int64_t weight;
};

// Undirected: the weights of both directions and of repeated edges add up. Edges of no weight, and
// of a vertex to itself, are left out.
class Graph {
 public:
  Graph(int n_vertices, std::span<const Edge> edges);

  int size() const { return static_cast<int>(begins_.size()) - 1; }
  // Each once, in ascending order.
  std::span<const Neighbour> neighbours(int vertex) const {
    const auto i = static_cast<std::size_t>(vertex);
    return std::span(neighbours_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }

 private:
  // The first neighbour of each vertex, as an index into `neighbours_`. The last value is the size
  // of `neighbours_`.
  std::vector<std::size_t> begins_;
  std::vector<Neighbour> neighbours_;
};

// The number of the group that each vertex belongs to. A group can be a node.
using Groups = std::vector<int>;

// The weight of the edges between groups.
std::int64_t weight_between(const Graph& graph, const Groups& groups);

// Each group becomes one vertex.
Graph contracted(const Graph& graph, const Groups& groups, int n_groups);

}  // namespace tempi::placement
