// The placement of ranks on nodes.
#include "placement/placement.hpp"

#include <pybind11/stl.h>
#include <stdexcept>
#include <tuple>

#include "bind/bind.hpp"

namespace py = pybind11;

namespace tempi::bind {
namespace {

using EdgeNumbers = std::tuple<int, int, std::int64_t>;

std::vector<int> ranks_for_graph(const std::vector<EdgeNumbers>& numbers, const placement::Groups& nodes) {
  const int n = static_cast<int>(nodes.size());
  std::vector<placement::Edge> edges;
  for (const auto& [source, target, weight] : numbers) {
    if (std::min(source, target) < 0 || std::max(source, target) >= n || weight < 0)
      throw std::invalid_argument("an edge is (source, target, weight) of ranks below the number of nodes' entries");
    edges.push_back({source, target, weight});
  }
  return ranks_for(placement::Graph(n, edges), nodes);
}

std::vector<int> ranks_for_grid(const std::vector<int>& dims, const std::vector<bool>& periods,
                                const placement::Groups& nodes) {
  std::int64_t size = 1;
  for (const int n : dims) size *= n >= 1 && size <= static_cast<std::int64_t>(nodes.size()) ? n : 0;
  if (size < 1 || size > static_cast<std::int64_t>(nodes.size()) || dims.size() != periods.size())
    throw std::invalid_argument("a grid has positive dims, as many periods, and at most one position for each rank");
  return ranks_for(placement::Grid{dims, {periods.begin(), periods.end()}}, nodes);
}

}  // namespace

void bind_placement(py::module_& module) {
  module.def("ranks_for_graph", ranks_for_graph, py::arg("edges"), py::arg("nodes"));
  module.def("ranks_for_grid", ranks_for_grid, py::arg("dims"), py::arg("periods"), py::arg("nodes"));
}

}  // namespace tempi::bind
