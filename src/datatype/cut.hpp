// Some consecutive bytes of a layout, in type-map order: those that a message fills if it is shorter than its receive,
// or those of a partition.
//
// Example: the first 20 bytes of {4 x 8 bytes, stride 16 to 8} are {2 x 8 bytes, stride 16 to 8} and
//   {4 bytes, 32 to 16}.
#pragma once

#include <optional>

#include "datatype/box.hpp"

namespace tempi::datatype {

// The boxes that move only the packed bytes [begin, end) of `boxes`. Their packed side begins at
// offset 0. `boxes` and the result are written for packing. Nothing if the result has many boxes.
std::optional<Boxes> bytes_between(const Boxes& boxes, std::int64_t begin, std::int64_t end);

inline std::optional<Boxes> first_bytes(const Boxes& boxes, std::int64_t bytes) {
  return bytes_between(boxes, 0, bytes);
}

}  // namespace tempi::datatype
