#include "datatype/tree.hpp"

#include <algorithm>

namespace tempi::datatype {
namespace {

std::uint64_t mix(std::uint64_t hash, std::int64_t value) {
  hash ^= static_cast<std::uint64_t>(value) + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

// Multiplication that does not overflow silently: datatypes may describe more bytes than any machine has.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace

TreePtr dense(std::int64_t bytes) {
  return std::make_shared<const Tree>(Tree{.kind = Tree::Kind::dense, .size = bytes, .hash = mix(1, bytes)});
}

TreePtr strided(std::int64_t count, std::int64_t stride_bytes, TreePtr child) {
  const std::int64_t size = times(count, child->size);
  const std::uint64_t hash = mix(mix(mix(2, count), stride_bytes), static_cast<std::int64_t>(child->hash));
  return std::make_shared<const Tree>(Tree{.kind = Tree::Kind::strided,
                                           .size = size,
                                           .hash = hash,
                                           .count = count,
                                           .stride = stride_bytes,
                                           .child = std::move(child)});
}

TreePtr blocks(std::vector<Piece> pieces) {
  std::int64_t size = 0;
  std::uint64_t hash = 3;
  for (const Piece& piece : pieces) {
    size += piece.tree->size;
    hash = mix(mix(hash, piece.offset), static_cast<std::int64_t>(piece.tree->hash));
  }
  return std::make_shared<const Tree>(
      Tree{.kind = Tree::Kind::blocks, .size = size, .hash = hash, .pieces = std::move(pieces)});
}

bool same(const TreePtr& a, const TreePtr& b) {
  if (a == b) return true;
  if (a->hash != b->hash || a->kind != b->kind || a->size != b->size) return false;
  switch (a->kind) {
    case Tree::Kind::dense: return true;
    case Tree::Kind::strided: return a->count == b->count && a->stride == b->stride && same(a->child, b->child);
    case Tree::Kind::blocks:
      return std::equal(a->pieces.begin(), a->pieces.end(), b->pieces.begin(), b->pieces.end(),
                        [](const Piece& p, const Piece& q) { return p.offset == q.offset && same(p.tree, q.tree); });
  }
  return false;
}

void walk(const Tree& tree, std::int64_t offset, const RunFn& fn) {
  if (tree.size == 0) return;
  switch (tree.kind) {
    case Tree::Kind::dense: fn(offset, tree.size); break;
    case Tree::Kind::strided:
      for (std::int64_t i = 0; i < tree.count; ++i) walk(*tree.child, offset + i * tree.stride, fn);
      break;
    case Tree::Kind::blocks:
      for (const Piece& piece : tree.pieces) walk(*piece.tree, offset + piece.offset, fn);
      break;
  }
}

}  // namespace tempi::datatype
