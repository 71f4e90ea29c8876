#include "datatype/constructors.hpp"

#include <algorithm>
#include <map>

namespace tempi::datatype {
namespace {

// Blocks of one element type: equal blocklengths share one tree.
class BlockMaker {
 public:
  explicit BlockMaker(const Element& element) : element_(element) {}

  TreePtr operator()(std::int64_t blocklength) {
    TreePtr& block = made_[blocklength];
    if (!block) block = make_contiguous(blocklength, element_);
    return block;
  }

 private:
  const Element& element_;
  std::map<std::int64_t, TreePtr> made_;
};

// Dimensions of an array, slowest-varying first, whatever the order it was declared in.
std::vector<std::size_t> slowest_first(std::size_t n_dims, Order order) {
  std::vector<std::size_t> dims(n_dims);
  for (std::size_t d = 0; d < n_dims; ++d) dims[d] = order == Order::c ? d : n_dims - 1 - d;
  return dims;
}

// The part of a dimension that one process holds under a distribution: blocks at offsets (in steps of that dimension).
TreePtr distributed(std::int64_t global, std::int64_t step_bytes, Distribution kind, std::int64_t argument,
                    std::int64_t processes, std::int64_t coordinate, const TreePtr& inner) {
  if (kind == Distribution::none) return strided(global, step_bytes, inner);
  const std::int64_t block = argument > 0                   ? argument
                             : kind == Distribution::cyclic ? 1
                                                            : (global + processes - 1) / processes;
  std::vector<Piece> pieces;
  for (std::int64_t begin = coordinate * block; begin < global; begin += processes * block) {
    const std::int64_t length = std::min(block, global - begin);
    pieces.push_back({begin * step_bytes, strided(length, step_bytes, inner)});
    if (kind == Distribution::block) break;
  }
  return blocks(std::move(pieces));
}

}  // namespace

TreePtr make_contiguous(std::int64_t count, const Element& element) {
  return strided(count, element.extent, element.tree);
}

TreePtr make_hvector(std::int64_t count, std::int64_t blocklength, std::int64_t stride_bytes, const Element& element) {
  return strided(count, stride_bytes, make_contiguous(blocklength, element));
}

TreePtr make_indexed(const Values& counts, const Element& element) {
  const auto n = static_cast<std::size_t>(counts.at(0));
  BlockMaker block(element);
  std::vector<Piece> pieces;
  pieces.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    pieces.push_back({counts.at(1 + n + i) * element.extent, block(counts.at(1 + i))});
  }
  return blocks(std::move(pieces));
}

TreePtr make_hindexed(const Values& counts, const Values& displacement_bytes, const Element& element) {
  BlockMaker block(element);
  std::vector<Piece> pieces;
  pieces.reserve(displacement_bytes.size());
  for (std::size_t i = 0; i < displacement_bytes.size(); ++i) {
    pieces.push_back({displacement_bytes[i], block(counts.at(1 + i))});
  }
  return blocks(std::move(pieces));
}

TreePtr make_indexed_block(const Values& counts, const Element& element) {
  const TreePtr block = make_contiguous(counts.at(1), element);
  std::vector<Piece> pieces;
  pieces.reserve(counts.size() - 2);
  for (std::size_t i = 2; i < counts.size(); ++i) pieces.push_back({counts[i] * element.extent, block});
  return blocks(std::move(pieces));
}

TreePtr make_hindexed_block(std::int64_t blocklength, const Values& displacement_bytes, const Element& element) {
  const TreePtr block = make_contiguous(blocklength, element);
  std::vector<Piece> pieces;
  pieces.reserve(displacement_bytes.size());
  for (const std::int64_t displacement : displacement_bytes) pieces.push_back({displacement, block});
  return blocks(std::move(pieces));
}

TreePtr make_struct(const Values& counts, const Values& displacement_bytes, const std::vector<Element>& elements) {
  std::vector<Piece> pieces;
  pieces.reserve(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    pieces.push_back({displacement_bytes.at(i), make_contiguous(counts.at(1 + i), elements[i])});
  }
  return blocks(std::move(pieces));
}

TreePtr make_subarray(const Values& counts, Order order, const Element& element) {
  const auto n = static_cast<std::size_t>(counts.at(0));
  const std::vector<std::size_t> dims = slowest_first(n, order);
  TreePtr tree = element.tree;
  std::int64_t step = element.extent, start = 0;
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    tree = strided(counts.at(1 + n + *dim), step, std::move(tree));
    start += counts.at(1 + 2 * n + *dim) * step;
    step *= counts.at(1 + *dim);
  }
  return blocks({{start, std::move(tree)}});
}

TreePtr make_darray(const Contents& contents, const Element& element) {
  const Values& counts = contents.counts;
  const auto n = static_cast<std::size_t>(counts.at(2));
  const auto global = [&](std::size_t d) { return counts.at(3 + d); };
  const auto argument = [&](std::size_t d) {
    const std::int64_t value = counts.at(3 + n + d);
    return value == contents.default_argument ? 0 : value;
  };
  const auto processes = [&](std::size_t d) { return counts.at(3 + 2 * n + d); };

  // The process grid is always in C order, whatever the order of the array (MPI-4.1, 5.1.4).
  Values coordinates(n);
  std::int64_t rank = counts.at(1);
  for (std::size_t d = n; d-- > 0;) {
    coordinates[d] = rank % processes(d);
    rank /= processes(d);
  }

  TreePtr tree = element.tree;
  std::int64_t step = element.extent;
  const std::vector<std::size_t> dims = slowest_first(n, contents.order);
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    tree = distributed(global(*dim), step, contents.distributions.at(*dim), argument(*dim), processes(*dim),
                       coordinates[*dim], tree);
    step *= global(*dim);
  }
  return tree;
}

}  // namespace tempi::datatype
