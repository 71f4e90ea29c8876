// Counts the comparisons of TEMPI_VERIFY in this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tempi {

struct Verified {
  std::atomic<std::uint64_t> calls{0}, bytes{0};
};
inline constinit Verified verified{};

// "tempi: note: message" on standard error, whatever TEMPI_LOG says.
void note(const std::string& message);

}  // namespace tempi
