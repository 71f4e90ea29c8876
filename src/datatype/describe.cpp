// Trees as text for people.
#include "datatype/tree.hpp"

namespace tempi::datatype {
namespace {

constexpr std::size_t kPiecesShown = 8;

void append(std::string& out, const Tree& tree, const std::string& indent) {
  const std::string deeper = indent + "  ";
  switch (tree.kind) {
    case Tree::Kind::dense: out += "contiguous " + std::to_string(tree.size) + " B\n"; break;
    case Tree::Kind::strided:
      out +=
          "strided count " + std::to_string(tree.count) + ", stride " + std::to_string(tree.stride) + " B\n" + deeper;
      append(out, *tree.child, deeper);
      break;
    case Tree::Kind::blocks:
      out += std::to_string(tree.pieces.size()) + (tree.pieces.size() == 1 ? " block, " : " blocks, ") +
             std::to_string(tree.size) + " B\n";
      for (std::size_t i = 0; i < tree.pieces.size() && i < kPiecesShown; ++i) {
        out += deeper + "at " + std::to_string(tree.pieces[i].offset) + ": ";
        append(out, *tree.pieces[i].tree, deeper);
      }
      if (tree.pieces.size() > kPiecesShown) {
        out += deeper + "... " + std::to_string(tree.pieces.size() - kPiecesShown) + " more\n";
      }
      break;
  }
}

}  // namespace

std::string describe(const Tree& tree) {
  std::string out;
  append(out, tree, "");
  return out;
}

}  // namespace tempi::datatype
