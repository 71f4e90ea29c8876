// Layout: the boxes of one element of the datatype, made from its canonical tree and written for packing.
#pragma once

#include "datatype/box.hpp"
#include "datatype/tree.hpp"

namespace tempi::datatype {

struct Layout {
  Boxes boxes;                        // in type-map order of their first byte
  std::int64_t size = 0;              // payload bytes of one element
  std::int64_t true_lower_bound = 0;  // smallest offset of a payload byte (0 when size is 0)
  std::int64_t true_upper_bound = 0;  // one past the largest offset of a payload byte
};

Layout layout(const Tree& canonical);

// The same boxes for `count` elements, `extent` bytes apart: one more (outermost) dim each, merged if possible.
Boxes repeated(const Boxes& boxes, std::int64_t count, std::int64_t extent, std::int64_t size);
Box repeated(Box box, std::int64_t count, std::int64_t extent, std::int64_t size);  // count > 0

}  // namespace tempi::datatype
