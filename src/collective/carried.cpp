#include "collective/carried.hpp"

#include <algorithm>

namespace tempi::collective {
namespace {

// The place-th of n parts of the blocks of a node, as if they followed each other.
void add_part_of_node(Carried& carried, const std::vector<int>& owners, const std::vector<Count>& blocks,
                      const std::vector<Count>& firsts, const Nodes& nodes) {
  Count total = 0;
  for (const int owner : owners) total += blocks[static_cast<std::size_t>(owner)];
  const Count length = (total + nodes.n_carriers - 1) / nodes.n_carriers;
  const Count begin = std::min(total, nodes.place * length), end = std::min(total, begin + length);
  Count before = 0;
  for (const int owner : owners) {
    const auto of = static_cast<std::size_t>(owner);
    const Count from = std::max(begin, before), to = std::min(end, before + blocks[of]);
    if (from < to) carried.pieces.push_back({firsts[of] + from - before, to - from, owner, from - before});
    before += blocks[of];
  }
  carried.counts.push_back(static_cast<int>(end - begin));
}

Carried carried_of_blocks(const Nodes& nodes, const std::vector<Count>& blocks) {
  std::vector<Count> firsts;
  Count first = 0;
  for (const Count block : blocks) {
    firsts.push_back(first);
    first += block;
  }
  Carried carried;
  for (const auto& owners : nodes.members) add_part_of_node(carried, owners, blocks, firsts, nodes);
  return carried;
}

}  // namespace

Count Carried::total() const {
  Count sum = 0;
  for (const Piece& piece : pieces) sum += piece.count;
  return sum;
}

Carried carried_by(const ReductionTask& task, const Nodes& nodes, const std::vector<Count>& blocks) {
  if (!nodes.is_carrier()) return {};
  if (!blocks.empty()) return carried_of_blocks(nodes, blocks);
  ReductionTask part = task;
  take_part(part, nodes.place, nodes.n_carriers);
  return {{{part.first, part.count, -1, 0}}};
}

}  // namespace tempi::collective
