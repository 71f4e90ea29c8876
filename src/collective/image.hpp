// Elements in host memory as the program lays them out, for a library that computes with them: the packed bytes are
// spread over a copy of the layout before the call, and collected from it behind the call. Gaps of the layout are no
// data: what stands in those of the copy goes nowhere.
#pragma once

#include <cstddef>
#include <vector>

#include "pack/transfer.hpp"
#include "types/types.hpp"

namespace tempi::collective {

class Image {
 public:
  // `packed`: the bytes of all elements, in memory that the CPU reaches. The first n_read elements are spread, the
  // first n_written collected: those between that the library does not use stay what they are.
  Image(const KnownType& type, std::byte* packed, std::int64_t n_read, std::int64_t n_written);

  void* address() const { return elements_.address; }  // in place of the program's buffer
  void spread() const { move(pack::Direction::unpack, n_read_); }
  void collect() const { move(pack::Direction::pack, n_written_); }

 private:
  void move(pack::Direction direction, std::int64_t count) const;

  pack::PreparedPtr prepared_;
  std::byte* packed_;
  std::int64_t n_read_, n_written_;
  std::vector<std::byte> bytes_;
  pack::End elements_;
};

}  // namespace tempi::collective
