// One measurement, as the Python package requests it (face/api.h describes the names).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tempi::measure {

struct Measurement {
  std::string_view what, strategy;
  std::uint64_t datatype;  // a handle
  std::int64_t count, parts;
  int peer;
  double max_seconds;
  std::size_t max_samples;
};

}  // namespace tempi::measure
