// A copy of elements in host memory with the layout of the program, for a library that needs their datatype: it
// computes with the elements, or divides blocks by the extent. Before the call, the packed bytes are unpacked into the
// copy. After the call, they are packed from it. The gaps of the layout contain no data, and are not copied back.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "collective/argument.hpp"
#include "pack/box_move.hpp"
#include "types/types.hpp"

namespace tempi::collective {

class Image {
 public:
  struct Block {
    std::byte* packed;          // in memory that the CPU reaches
    std::int64_t displacement;  // bytes, as in the program's buffer
    Count count;
    Role role;  // a block that is read is unpacked before the call; one that is written is packed after it
  };
  // Reserves address space for the whole layout. A page takes memory only when it is used.
  Image(const KnownType& type, std::vector<Block> blocks);

  void* address() const { return elements_.address; }  // in place of the program's buffer
  void spread() const;
  void collect() const;

 private:
  void move(pack::Direction direction, const Block& block) const;

  pack::PreparedPtr prepared_;
  std::vector<Block> blocks_;
  std::unique_ptr<std::byte[]> bytes_;
  pack::End elements_;
};

}  // namespace tempi::collective
