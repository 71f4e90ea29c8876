// The page: the unit of staging memory, and of the memory features of a transfer.
#pragma once

#include <cstdint>

namespace tempi {

inline constexpr std::int64_t kPageBytes = 4096;

}  // namespace tempi
