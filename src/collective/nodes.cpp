#include "collective/nodes.hpp"

#include <algorithm>

namespace tempi::collective {
namespace {

bool is_smaller(const std::vector<int>& one, const std::vector<int>& other) { return one.size() < other.size(); }

}  // namespace

Nodes::Nodes(const std::vector<int>& firsts, int rank) {
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const auto& one) { return one.front() == firsts[i]; });
    const auto node = static_cast<std::size_t>(found - members.begin());
    if (found == members.end()) members.emplace_back();
    node_of.push_back(static_cast<int>(node));
    place_of.push_back(static_cast<int>(members[node].size()));
    members[node].push_back(static_cast<int>(i));
  }
  own = node_of[static_cast<std::size_t>(rank)];
  place = place_of[static_cast<std::size_t>(rank)];
  n_carriers = static_cast<int>(std::min_element(members.begin(), members.end(), is_smaller)->size());
}

bool Nodes::are_several_with_several() const {
  return count() > 1 && std::max_element(members.begin(), members.end(), is_smaller)->size() > 1;
}

}  // namespace tempi::collective
