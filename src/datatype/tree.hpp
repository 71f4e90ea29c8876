// The datatype as a tree of loops: built by decode, rewritten by canonicalise, turned into boxes by layout.
//
// Glossary
//   payload     the bytes that the datatype transfers, in type-map order
//   offset      position of a byte relative to the program's buffer address (may be negative)
//   Dense       `size` consecutive bytes
//   Strided     `count` copies of `child`, `stride` bytes apart (any sign)
//   Blocks      `pieces`, one after the other in type-map order, each at its own offset
//
// Example: MPI_Type_vector(3, 2, 4, MPI_INT) is built as
//   Strided{3, 16, Strided{2, 4, Dense{4}}}     and canonicalised to     Strided{3, 16, Dense{8}}
//
// Invariant: a tree stands for a sequence of (offset, length); every rewrite keeps the byte sequence exactly.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tempi::datatype {

struct Tree;
using TreePtr = std::shared_ptr<const Tree>;  // subtrees are shared: an indexed type has one child and many offsets

struct Piece {
  std::int64_t offset;  // bytes
  TreePtr tree;
};

struct Tree {
  enum class Kind : std::uint8_t { dense, strided, blocks };

  Kind kind;
  std::int64_t size;               // payload bytes; a tree of size 0 is the empty type map
  std::uint64_t hash;              // of the structure: equal trees have equal hashes
  std::int64_t count = 0;          // strided
  std::int64_t stride = 0;         // strided, bytes
  TreePtr child = {};              // strided
  std::vector<Piece> pieces = {};  // blocks
};

TreePtr dense(std::int64_t bytes);
TreePtr strided(std::int64_t count, std::int64_t stride_bytes, TreePtr child);
TreePtr blocks(std::vector<Piece> pieces);

bool same(const TreePtr& a, const TreePtr& b);  // structural equality

// A datatype as MPI sees it: the tree and its extent, by which elements repeat when count > 1.
struct Type {
  TreePtr tree;
  std::int64_t lower_bound = 0;
  std::int64_t extent = 0;
};

// Walks the type map with the simplest code: fn(offset, length) for each run, in type-map order. TEMPI_VERIFY and the
// rewrite tests use it as the reference. It is slow.
using RunFn = std::function<void(std::int64_t offset, std::int64_t length)>;
void walk(const Tree& tree, std::int64_t offset, const RunFn& fn);

// The tree as indented lines of text, long lists shortened.
std::string describe(const Tree& tree);

}  // namespace tempi::datatype
