#include "placement/placement.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "placement/grow.hpp"
#include "placement/swap.hpp"

namespace tempi::placement {
namespace {

constexpr std::size_t kMostMended = 2;  // candidates: swaps take the most time

// The nodes, numbered by their first processes.
struct Rooms {
  explicit Rooms(const Groups& nodes) {
    std::map<int, int> numbers;
    for (const int node : nodes) {
      const int number = numbers.try_emplace(node, static_cast<int>(sizes.size())).first->second;
      if (number == count()) sizes.push_back(0);
      ++sizes[static_cast<std::size_t>(number)];
      of_process.push_back(number);
    }
  }
  int count() const { return static_cast<int>(sizes.size()); }
  bool are_equal() const {
    return !sizes.empty() && std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) == sizes.end();
  }

  Groups of_process;
  std::vector<int> sizes{};
};

Groups in_blocks(const Rooms& rooms) {
  Groups placement;
  for (int node = 0; node < rooms.count(); ++node)
    placement.insert(placement.end(), static_cast<std::size_t>(rooms.sizes[static_cast<std::size_t>(node)]), node);
  return placement;
}

Groups in_turn(const Rooms& rooms) {
  Groups placement;
  for (std::vector<int> left = rooms.sizes; placement.size() < rooms.of_process.size();) {
    for (int node = 0; node < rooms.count(); ++node)
      if (left[static_cast<std::size_t>(node)]-- > 0) placement.push_back(node);
  }
  return placement;
}

// 12: 2, 2, 3
std::vector<int> prime_factors(int n) {
  std::vector<int> factors;
  for (int factor = 2; n > 1; ++factor)
    for (; n % factor == 0; n /= factor) factors.push_back(factor);
  return factors;
}

std::vector<Groups> candidates(const Graph& graph, const Rooms& rooms) {
  std::vector<Groups> all{rooms.of_process, in_blocks(rooms), in_turn(rooms), grown(graph, rooms.sizes)};
  if (rooms.are_equal()) {
    std::vector<int> stages = prime_factors(rooms.sizes.front());
    all.push_back(grown_in_stages(graph, stages));
    std::reverse(stages.begin(), stages.end());
    all.push_back(grown_in_stages(graph, stages));
  }
  return all;
}

// On the first nodes; the positions beyond the grid on the others.
std::vector<Groups> by_bricks(const Grid& grid, const Rooms& rooms) {
  const auto bricks = rooms.are_equal() ? bricks_of(grid, rooms.sizes.front()) : std::nullopt;
  if (!bricks) return {};
  Groups placement = in_blocks(rooms);
  std::copy(bricks->begin(), bricks->end(), placement.begin());
  return {placement};
}

struct Weighed {
  std::int64_t weight;
  Groups placement;
};

// The first `n` have the least weight between nodes; of equal ones, earlier candidates are first.
std::vector<Weighed> lightest(const Graph& graph, std::vector<Groups> all, std::size_t n) {
  std::vector<Weighed> weighed;
  for (Groups& placement : all) {
    const std::int64_t weight = weight_between(graph, placement);
    weighed.push_back({weight, std::move(placement)});
  }
  std::stable_sort(weighed.begin(), weighed.end(),
                   [](const Weighed& a, const Weighed& b) { return a.weight < b.weight; });
  weighed.resize(std::min(n, weighed.size()));
  return weighed;
}

// The given placement is the first of the candidates: it stays unless another one has less weight.
Groups best_of(const Graph& graph, const Rooms& rooms, std::vector<Groups> all) {
  std::vector<Groups> mended{rooms.of_process};
  for (Weighed& one : lightest(graph, std::move(all), kMostMended)) {
    swap_while_it_helps(graph, one.placement, rooms.count());
    mended.push_back(std::move(one.placement));
  }
  return std::move(lightest(graph, std::move(mended), 1).front().placement);
}

// A process keeps its rank if that is placed on its node; the others of a node take the rest in order.
std::vector<int> ranks_of(const Groups& placement, const Rooms& rooms) {
  const std::size_t n = placement.size();
  std::vector<int> ranks(n);
  std::vector<std::vector<int>> left(rooms.sizes.size());
  for (std::size_t i = n; i-- > 0;) {
    if (placement[i] == rooms.of_process[i]) ranks[i] = static_cast<int>(i);
    else left[static_cast<std::size_t>(placement[i])].push_back(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (placement[i] == rooms.of_process[i]) continue;
    auto& of_node = left[static_cast<std::size_t>(rooms.of_process[i])];
    ranks[i] = of_node.back();
    of_node.pop_back();
  }
  return ranks;
}

}  // namespace

std::vector<int> ranks_for(const Graph& graph, const Groups& nodes) {
  const Rooms rooms(nodes);
  return ranks_of(best_of(graph, rooms, candidates(graph, rooms)), rooms);
}

std::vector<int> ranks_for(const Grid& grid, const Groups& nodes) {
  const Rooms rooms(nodes);
  const Graph graph(static_cast<int>(nodes.size()), faces_of(grid));
  std::vector<Groups> all = candidates(graph, rooms);
  std::vector<Groups> bricks = by_bricks(grid, rooms);
  all.insert(all.end(), bricks.begin(), bricks.end());
  return ranks_of(best_of(graph, rooms, all), rooms);
}

}  // namespace tempi::placement
