#include "placement/grid.hpp"

#include <functional>
#include <numeric>

namespace tempi::placement {
namespace {

using Brick = std::vector<int>;  // positions in each dimension

// Faces between positions that are `step` apart in a dimension, at whose multiples bricks meet.
std::int64_t faces_between(const Grid& grid, const Brick& brick) {
  std::int64_t faces = 0;
  for (std::size_t i = 0; i < brick.size(); ++i) {
    const int n_bricks = grid.dims[i] / brick[i];
    const int n_meetings = n_bricks - 1 + (grid.is_periodic[i] != 0 && n_bricks > 1 ? 1 : 0);
    faces += std::int64_t{n_meetings} * (grid.size() / grid.dims[i]);
  }
  return faces;
}

// Calls `use` with each brick of `left` positions that divides the grid, its dimensions before `brick.size()` given.
void for_each_brick(const Grid& grid, int left, Brick& brick, const std::function<void(const Brick&)>& use) {
  const std::size_t i = brick.size();
  if (i == grid.dims.size()) {
    if (left == 1) use(brick);
    return;
  }
  for (int n = 1; n <= left && n <= grid.dims[i]; ++n) {
    if (left % n != 0 || grid.dims[i] % n != 0) continue;
    brick.push_back(n);
    for_each_brick(grid, left / n, brick, use);
    brick.pop_back();
  }
}

int brick_at(const Grid& grid, const Brick& brick, int position) {
  int number = 0, stride = 1;
  for (std::size_t i = brick.size(); i-- > 0; position /= grid.dims[i]) {
    number += position % grid.dims[i] / brick[i] * stride;
    stride *= grid.dims[i] / brick[i];
  }
  return number;
}

}  // namespace

int Grid::size() const { return std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>()); }

std::vector<Edge> faces_of(const Grid& grid) {
  std::vector<Edge> faces;
  int stride = 1;
  for (std::size_t i = grid.dims.size(); i-- > 0; stride *= grid.dims[i]) {
    const int n = grid.dims[i];
    for (int position = 0; position < grid.size(); ++position) {
      const bool is_last = position / stride % n == n - 1;
      if (!is_last) faces.push_back({position, position + stride, 1});
      else if (grid.is_periodic[i] != 0) faces.push_back({position, position - stride * (n - 1), 1});
    }
  }
  return faces;
}

std::optional<Groups> bricks_of(const Grid& grid, int size) {
  std::optional<Brick> best;
  Brick begun;
  for_each_brick(grid, size, begun, [&](const Brick& brick) {
    if (!best || faces_between(grid, brick) < faces_between(grid, *best)) best = brick;
  });
  if (!best) return std::nullopt;
  Groups bricks(static_cast<std::size_t>(grid.size()));
  for (std::size_t i = 0; i < bricks.size(); ++i) bricks[i] = brick_at(grid, *best, static_cast<int>(i));
  return bricks;
}

}  // namespace tempi::placement
