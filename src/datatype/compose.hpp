// Composition: boxes that copy directly from the layout of a sender to the layout of a receiver, without packed bytes
// between them.
//
// Example: packing {2 x 8 bytes, stride 16 to 8} and packing {4 x 4 bytes, stride 6 to 4} compose to one box
//   {2 x 4 bytes, 4 to 6} in {2, 16 to 12}.
#pragma once

#include <optional>

#include "datatype/box.hpp"

namespace tempi::datatype {

// Boxes from `sent`'s source to `received`'s source. Both are written for packing and have the same packed bytes.
// Nothing if that takes many boxes: many blocks that do not divide each other, long tables on both sides.
std::optional<Boxes> composed(const Boxes& sent, const Boxes& received);

}  // namespace tempi::datatype
