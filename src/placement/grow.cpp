#include "placement/grow.hpp"

#include <utility>

namespace tempi::placement {
namespace {

constexpr int kNone = -1;

// One group after the other.
class Growth {
 public:
  explicit Growth(const Graph& graph)
      : graph_(graph),
        groups_(static_cast<std::size_t>(graph.size()), kNone),
        weight_(static_cast<std::size_t>(graph.size()), 0) {}

  void add_group(int group, int size) {
    for (int i = 0; i < size; ++i) take(next(), group);
    for (const int vertex : near_) weight_[static_cast<std::size_t>(vertex)] = 0;
    near_.clear();
  }
  Groups groups() && { return std::move(groups_); }

 private:
  bool is_left(int vertex) const { return groups_[static_cast<std::size_t>(vertex)] == kNone; }

  // The first of those with the most weight to the group.
  int next() {
    int best = kNone;
    for (const int vertex : near_) {
      if (is_left(vertex) && (best == kNone || is_before(vertex, best))) best = vertex;
    }
    return best != kNone ? best : first_left();
  }

  bool is_before(int a, int b) const {
    const std::int64_t to_a = weight_[static_cast<std::size_t>(a)], to_b = weight_[static_cast<std::size_t>(b)];
    return to_a > to_b || (to_a == to_b && a < b);
  }

  int first_left() {
    while (!is_left(first_)) ++first_;
    return first_;
  }

  void take(int vertex, int group) {
    groups_[static_cast<std::size_t>(vertex)] = group;
    for (const Neighbour& other : graph_.neighbours(vertex)) {
      if (!is_left(other.vertex)) continue;
      std::int64_t& weight = weight_[static_cast<std::size_t>(other.vertex)];
      if (weight == 0) near_.push_back(other.vertex);
      weight += other.weight;
    }
  }

  const Graph& graph_;
  Groups groups_;
  std::vector<std::int64_t> weight_;  // of each vertex to the group that grows
  std::vector<int> near_;             // those with any
  int first_ = 0;                     // all before it are in groups
};

}  // namespace

Groups grown(const Graph& graph, std::span<const int> sizes) {
  Growth growth(graph);
  for (std::size_t i = 0; i < sizes.size(); ++i) growth.add_group(static_cast<int>(i), sizes[i]);
  return std::move(growth).groups();
}

Groups grown_in_stages(const Graph& graph, std::span<const int> stages) {
  Groups groups(static_cast<std::size_t>(graph.size()));
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<int>(i);
  Graph of_groups = graph;
  for (const int size : stages) {
    const int n_groups = of_groups.size() / size;
    const Groups joined = grown(of_groups, std::vector<int>(static_cast<std::size_t>(n_groups), size));
    for (int& group : groups) group = joined[static_cast<std::size_t>(group)];
    of_groups = contracted(of_groups, joined, n_groups);
  }
  return groups;
}

}  // namespace tempi::placement
