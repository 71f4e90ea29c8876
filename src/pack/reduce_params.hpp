// Parameters of the reductions. Compiled by the host compiler and by nvcc: plain data of fixed layout only.
#pragma once

#include <cstdint>

namespace tempi::pack {

// MPI-4.1, 6.9.2.
enum class Operation : std::uint32_t {
  sum,
  product,
  least,
  greatest,
  bit_and,
  bit_or,
  bit_xor,
  logical_and,
  logical_or,
  logical_xor,
};

inline constexpr std::uint32_t kReduceThreads = 256;   // of a tile
inline constexpr std::uint32_t kReducedPerThread = 2;  // of up to kReducedBytes, with their loads in flight together
inline constexpr std::uint32_t kReducedBytes = 16;

// inout[i] = in[i] op inout[i], for n elements.
struct Reduction {
  const char* in;
  char* inout;
  std::uint64_t n;
  Operation operation;
  std::uint32_t is_wide;  // both ends are aligned to units: a thread takes kReducedBytes at a time, else an element
};

// Units that a thread may take.
constexpr std::uint64_t units_of(std::uint64_t n, std::uint32_t element_bytes, bool is_wide) {
  const std::uint64_t in_unit = is_wide ? kReducedBytes / element_bytes : 1;
  return (n + in_unit - 1) / in_unit;
}

}  // namespace tempi::pack
