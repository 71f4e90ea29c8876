// 16-bit floats and their operations, as the Python package names them.
#pragma once

#include <optional>
#include <string_view>

#include "pack/reduction.hpp"

namespace tempi::pack {

inline std::optional<ScalarType> float16_named(std::string_view name) {
  if (name == "float16") return ScalarType::f16;
  if (name == "bfloat16") return ScalarType::bf16;
  return {};
}

inline std::optional<Operation> float16_operation_named(std::string_view name) {
  if (name == "SUM") return Operation::sum;
  if (name == "PROD") return Operation::product;
  if (name == "MIN") return Operation::minimum;
  if (name == "MAX") return Operation::maximum;
  return {};
}

}  // namespace tempi::pack
