#include "datatype/oddities.hpp"

#include <optional>

namespace tempi::datatype {
namespace {

std::int64_t remainder(std::int64_t offset, std::int64_t unit) { return ((offset % unit) + unit) % unit; }

// The remainder that the offsets of all runs share; none if they differ.
std::optional<std::int64_t> phase(const Tree& tree, std::int64_t unit);

std::optional<std::int64_t> phase_of_pieces(const Tree& tree, std::int64_t unit) {
  std::optional<std::int64_t> common;
  for (const Piece& piece : tree.pieces) {
    if (piece.tree->size == 0) continue;
    const std::optional<std::int64_t> within = phase(*piece.tree, unit);
    if (!within) return {};
    const std::int64_t here = remainder(piece.offset + *within, unit);
    if (common && *common != here) return {};
    common = here;
  }
  return common.value_or(0);
}

std::optional<std::int64_t> phase(const Tree& tree, std::int64_t unit) {
  switch (tree.kind) {
    case Tree::Kind::dense: return 0;
    case Tree::Kind::blocks: return phase_of_pieces(tree, unit);
    case Tree::Kind::strided: break;
  }
  if (tree.count > 1 && tree.stride % unit != 0) return {};
  return phase(*tree.child, unit);
}

}  // namespace

bool on_one_grid(const Tree& tree, std::int64_t unit) { return tree.size == 0 || phase(tree, unit).has_value(); }

}  // namespace tempi::datatype
