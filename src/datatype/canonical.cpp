#include "datatype/canonical.hpp"

#include <algorithm>
#include <unordered_map>

namespace tempi::datatype {
namespace {

using Kind = Tree::Kind;

TreePtr settle(TreePtr node);

bool is_empty_dense(const Tree& tree) { return tree.kind == Kind::dense && tree.size == 0; }

// ---- rules on loops -------------------------------------------------------------------------------------------------

TreePtr drop_empty(const TreePtr& node) {
  if (node->size == 0) return is_empty_dense(*node) ? nullptr : dense(0);
  if (node->kind != Kind::blocks) return nullptr;
  const auto empty = [](const Piece& piece) { return piece.tree->size == 0; };
  if (std::none_of(node->pieces.begin(), node->pieces.end(), empty)) return nullptr;
  std::vector<Piece> kept;
  std::copy_if(node->pieces.begin(), node->pieces.end(), std::back_inserter(kept), std::not_fn(empty));
  return blocks(std::move(kept));
}

TreePtr unroll_single(const TreePtr& node) {
  return node->kind == Kind::strided && node->count == 1 ? node->child : nullptr;
}

// Back-to-back blocks are one block.
TreePtr fuse_dense(const TreePtr& node) {
  if (node->kind != Kind::strided || node->child->kind != Kind::dense || node->stride != node->child->size) {
    return nullptr;
  }
  return dense(node->size);
}

// A loop whose copies continue the inner loop's steps is one loop.
TreePtr fuse_loops(const TreePtr& node) {
  if (node->kind != Kind::strided || node->child->kind != Kind::strided) return nullptr;
  const Tree& inner = *node->child;
  std::int64_t span = 0;
  if (__builtin_mul_overflow(inner.count, inner.stride, &span) || node->stride != span) return nullptr;
  return strided(node->count * inner.count, inner.stride, inner.child);
}

// An offset that every copy shares moves out of the loop.
TreePtr hoist_offset(const TreePtr& node) {
  if (node->kind != Kind::strided || node->child->kind != Kind::blocks || node->child->pieces.size() != 1) {
    return nullptr;
  }
  const Piece& piece = node->child->pieces.front();
  return blocks({{piece.offset, settle(strided(node->count, node->stride, piece.tree))}});
}

// ---- rules on lists -------------------------------------------------------------------------------------------------

TreePtr unwrap_single(const TreePtr& node) {
  if (node->kind != Kind::blocks || node->pieces.size() != 1 || node->pieces.front().offset != 0) return nullptr;
  return node->pieces.front().tree;
}

TreePtr splice_lists(const TreePtr& node) {
  if (node->kind != Kind::blocks) return nullptr;
  const auto nested = [](const Piece& piece) { return piece.tree->kind == Kind::blocks; };
  if (std::none_of(node->pieces.begin(), node->pieces.end(), nested)) return nullptr;
  std::vector<Piece> spliced;
  for (const Piece& piece : node->pieces) {
    if (!nested(piece)) {
      spliced.push_back(piece);
      continue;
    }
    for (const Piece& inner : piece.tree->pieces) spliced.push_back({piece.offset + inner.offset, inner.tree});
  }
  return blocks(std::move(spliced));
}

// A piece seen as steps of a loop: a lone tree is a loop of one step whose stride is still free.
struct Steps {
  const TreePtr& tree;
  std::int64_t count, stride;
};

Steps as_steps(const TreePtr& tree) {
  if (tree->kind == Kind::strided) return {tree->child, tree->count, tree->stride};
  return {tree, 1, 0};
}

std::int64_t common_stride(const Steps& a, const Steps& b) { return a.count > 1 ? a.stride : b.stride; }

// True if the second piece begins exactly where the first would go on. Two lone equal trees are left to find_loops,
// which sees the whole list.
bool continues(const Piece& first, const Piece& second) {
  const std::int64_t gap = second.offset - first.offset;
  if (first.tree->kind == Kind::dense && second.tree->kind == Kind::dense) return gap == first.tree->size;
  const Steps a = as_steps(first.tree), b = as_steps(second.tree);
  if ((a.count == 1 && b.count == 1) || !same(a.tree, b.tree)) return false;
  const std::int64_t stride = common_stride(a, b);
  return (b.count == 1 || b.stride == stride) && gap == a.count * stride;
}

Piece joined(const Piece& first, const Piece& second) {
  if (first.tree->kind == Kind::dense && second.tree->kind == Kind::dense) {
    return {first.offset, dense(first.tree->size + second.tree->size)};
  }
  const Steps a = as_steps(first.tree), b = as_steps(second.tree);
  return {first.offset, settle(strided(a.count + b.count, common_stride(a, b), a.tree))};
}

TreePtr join_neighbours(const TreePtr& node) {
  if (node->kind != Kind::blocks) return nullptr;
  const std::vector<Piece>& pieces = node->pieces;
  if (std::adjacent_find(pieces.begin(), pieces.end(), continues) == pieces.end()) return nullptr;
  std::vector<Piece> out;
  out.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    if (!out.empty() && continues(out.back(), piece)) {
      out.back() = joined(out.back(), piece);
    } else {
      out.push_back(piece);
    }
  }
  return blocks(std::move(out));
}

using Range = std::vector<Piece>::const_iterator;

// The number of pieces from `begin` on that are as far apart as the first two.
std::int64_t evenly_spaced(Range begin, Range end) {
  const std::int64_t step = begin[1].offset - begin[0].offset;
  std::int64_t run = 2;
  while (run < end - begin && begin[run].offset - begin[run - 1].offset == step) ++run;
  return run;
}

// Equal trees at equal distances as nested loops, or null: the longest evenly spaced prefix gives the inner loop, which
// must then repeat to the end.
TreePtr as_loop(Range begin, Range end) {
  const std::int64_t n = end - begin;
  if (n < 2) return nullptr;
  const std::int64_t step = begin[1].offset - begin[0].offset;
  const std::int64_t run = evenly_spaced(begin, end);
  if (n % run != 0) return nullptr;
  for (std::int64_t i = run; i < n; i += run) {
    if (begin[i + 1].offset - begin[i].offset != step || evenly_spaced(begin + i, begin + i + run) != run)
      return nullptr;
  }
  TreePtr inner = settle(strided(run, step, begin->tree));
  if (run == n) return inner;
  std::vector<Piece> outer;
  for (std::int64_t i = 0; i < n; i += run) outer.push_back({begin[i].offset, inner});
  return as_loop(outer.begin(), outer.end());
}

// The loop made of a list's equal trees from `begin` on, or null. In a long list, a short loop is not worth its tree.
TreePtr loop_in_list(const TreePtr& list, Range begin, Range end) {
  constexpr std::size_t kLongList = 256;
  constexpr std::int64_t kShortLoop = 16;
  const bool too_short = list->pieces.size() > kLongList && end - begin < kShortLoop;
  return too_short ? nullptr : as_loop(begin, end);
}

TreePtr find_loops(const TreePtr& node) {
  if (node->kind != Kind::blocks) return nullptr;
  std::vector<Piece> out;
  bool found = false;  // nothing is copied before: most long lists have no loop
  for (Range begin = node->pieces.begin(), end; begin != node->pieces.end(); begin = end) {
    end = std::find_if(begin, node->pieces.end(), [&](const Piece& piece) { return !same(piece.tree, begin->tree); });
    TreePtr loop = loop_in_list(node, begin, end);
    if (loop && !found) out.assign(node->pieces.begin(), begin);
    found = found || loop;
    if (loop) {
      out.push_back({begin->offset, std::move(loop)});
    } else if (found) {
      out.insert(out.end(), begin, end);
    }
  }
  return found ? blocks(std::move(out)) : nullptr;
}

// Applies the rules to a node whose children are canonical until none applies.
TreePtr settle(TreePtr node) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Rule& rule : rules()) {
      if (TreePtr next = rule.apply(node)) {
        node = std::move(next);
        changed = true;
        break;
      }
    }
  }
  return node;
}

using Seen = std::unordered_map<const Tree*, TreePtr>;  // an indexed type shares one child among all its pieces

TreePtr canonicalise(const TreePtr& node, Seen& seen);

// The list with canonical trees; the list itself if they are canonical already.
TreePtr with_canonical_pieces(const TreePtr& list, Seen& seen) {
  const auto settled = [&](const Piece& piece) { return canonicalise(piece.tree, seen) == piece.tree; };
  if (std::all_of(list->pieces.begin(), list->pieces.end(), settled)) return list;
  std::vector<Piece> pieces;
  pieces.reserve(list->pieces.size());
  for (const Piece& piece : list->pieces) pieces.push_back({piece.offset, canonicalise(piece.tree, seen)});
  return blocks(std::move(pieces));
}

TreePtr canonicalise(const TreePtr& node, Seen& seen) {
  if (node->kind == Kind::dense) return node;
  if (const auto known = seen.find(node.get()); known != seen.end()) return known->second;
  TreePtr rebuilt = node->kind == Kind::strided ? strided(node->count, node->stride, canonicalise(node->child, seen))
                                                : with_canonical_pieces(node, seen);
  return seen[node.get()] = settle(std::move(rebuilt));
}

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"drop_empty", drop_empty},     {"unroll_single", unroll_single},     {"fuse_dense", fuse_dense},
      {"fuse_loops", fuse_loops},     {"hoist_offset", hoist_offset},       {"unwrap_single", unwrap_single},
      {"splice_lists", splice_lists}, {"join_neighbours", join_neighbours}, {"find_loops", find_loops},
  };
  return all;
}

TreePtr canonicalise(const TreePtr& tree) {
  Seen seen;
  return canonicalise(tree, seen);
}

}  // namespace tempi::datatype
