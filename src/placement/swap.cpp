#include "placement/swap.hpp"

#include <algorithm>

namespace tempi::placement {
namespace {

constexpr int kMostPasses = 16;
constexpr std::size_t kMostGroups = 6;  // that a vertex tries

struct Swap {
  std::size_t other = 0;  // the vertex
  std::int64_t gain = 0;
};

class Swaps {
 public:
  Swaps(const Graph& graph, Groups& groups, int n_groups)
      : graph_(graph), groups_(groups), members_(static_cast<std::size_t>(n_groups)), weight_(members_.size(), 0) {
    for (std::size_t i = 0; i < groups.size(); ++i) members_[group_of(i)].push_back(static_cast<int>(i));
  }

  // True if any vertex was swapped.
  bool pass() {
    bool helps = false;
    for (std::size_t vertex = 0; vertex < groups_.size(); ++vertex) {
      const Swap best = best_of(vertex);
      if (best.gain > 0) swap(vertex, best.other), helps = true;
    }
    return helps;
  }

 private:
  std::size_t group_of(std::size_t vertex) const { return static_cast<std::size_t>(groups_[vertex]); }

  Swap best_of(std::size_t vertex) {
    const std::vector<std::size_t> near = weigh(vertex);
    const std::size_t mine = group_of(vertex);
    Swap best;
    for (const std::size_t group : near) {
      const std::int64_t gain = weight_[group] - weight_[mine];
      for (const int other : members_[group]) {
        const Swap found{static_cast<std::size_t>(other), gain + gain_of(other, mine, group, vertex)};
        if (found.gain > best.gain) best = found;
      }
    }
    return best;
  }

  // Sets the weight from a vertex to each group, and returns the other groups with the most, at first the most.
  std::vector<std::size_t> weigh(std::size_t vertex) {
    for (const std::size_t group : weighed_) weight_[group] = 0;
    weighed_.clear();
    for (const Neighbour& other : graph_.neighbours(static_cast<int>(vertex))) {
      const std::size_t group = group_of(static_cast<std::size_t>(other.vertex));
      if (weight_[group] == 0) weighed_.push_back(group);
      weight_[group] += other.weight;
    }
    std::vector<std::size_t> near;
    for (const std::size_t group : weighed_) {
      if (group != group_of(vertex) && weight_[group] > 0) near.push_back(group);
    }
    const auto end = near.begin() + static_cast<std::ptrdiff_t>(std::min(near.size(), kMostGroups));
    std::partial_sort(near.begin(), end, near.end(), [&](std::size_t a, std::size_t b) {
      return weight_[a] > weight_[b] || (weight_[a] == weight_[b] && a < b);
    });
    near.erase(end, near.end());
    return near;
  }

  // The gain of a vertex's move from group `from` to group `to`, in exchange for `partner`.
  std::int64_t gain_of(int vertex, std::size_t to, std::size_t from, std::size_t partner) const {
    std::int64_t gain = 0;
    for (const Neighbour& other : graph_.neighbours(vertex)) {
      const auto i = static_cast<std::size_t>(other.vertex);
      if (i == partner) gain -= 2 * other.weight;
      if (group_of(i) == to) gain += other.weight;
      else if (group_of(i) == from) gain -= other.weight;
    }
    return gain;
  }

  void swap(std::size_t a, std::size_t b) {
    const auto place = [&](std::size_t vertex) {
      auto& members = members_[group_of(vertex)];
      return std::find(members.begin(), members.end(), static_cast<int>(vertex));
    };
    std::iter_swap(place(a), place(b));
    std::swap(groups_[a], groups_[b]);
  }

  const Graph& graph_;
  Groups& groups_;
  std::vector<std::vector<int>> members_;  // of each group
  std::vector<std::int64_t> weight_;       // from one vertex to each group
  std::vector<std::size_t> weighed_;       // the groups with any
};

}  // namespace

void swap_while_it_helps(const Graph& graph, Groups& groups, int n_groups) {
  Swaps swaps(graph, groups, n_groups);
  for (int i = 0; i < kMostPasses && swaps.pass(); ++i) {
  }
}

}  // namespace tempi::placement
