// The layout of a whole buffer, to compose it with that of another one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/box.hpp"
#include "pack/cache.hpp"

namespace tempi::pack {

// The boxes with a box for each entry of a table, unless these are more than kMostWrittenOut.
inline constexpr std::size_t kMostWrittenOut = 1024;
datatype::Boxes written_out(datatype::Boxes boxes);

// One buffer as the boxes of all its elements. Short tables are written out, a box for each entry: both ends then have
// the same boxes where they have the same structure.
struct BufferLayout {
  PreparedPtr prepared;
  std::int64_t count, extent;
  bool operator==(const BufferLayout&) const = default;

  std::int64_t bytes() const { return count * prepared->plan.layout.size; }
  datatype::Boxes boxes() const;
};

}  // namespace tempi::pack
