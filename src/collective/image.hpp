// Elements in host memory as the program lays them out, for a library that looks at their datatype: it computes with
// them, or cuts blocks by its extent. The packed bytes are spread over a copy of the layout before the call, and
// collected from it behind the call. Gaps of the layout are no data: what stands in those of the copy goes nowhere.
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
    Role role;  // blocks that are read are spread, those that are written collected
  };
  // Takes the room of the whole layout; pages come with their first use.
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
