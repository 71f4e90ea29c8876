// The layout of a whole buffer, to compose it with that of another one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/box.hpp"
#include "pack/cache.hpp"

namespace tempi::pack {

// Replaces each box that has a table by one box for each entry of the table. If this gives more
// than kMostWrittenOut boxes, returns the boxes unchanged.
inline constexpr std::size_t kMostWrittenOut = 1024;
datatype::Boxes written_out(datatype::Boxes boxes);

// One buffer as the boxes of all its elements. Short tables are written out (written_out()), so
// that two ends with the same structure have the same boxes.
struct BufferLayout {
  PreparedPtr prepared;
  std::int64_t count, extent;
  bool operator==(const BufferLayout&) const = default;

  std::int64_t bytes() const { return count * prepared->plan.layout.size; }
  datatype::Boxes boxes() const;
};

}  // namespace tempi::pack
