// Parameters of the reductions. Compiled by the host compiler and by nvcc: plain data of fixed layout only.
#pragma once

#include <cstdint>

namespace tempi::pack {

// MPI-4.1, 6.9.2. Floating point numbers have the first four.
enum class Operation : std::uint32_t {
  sum,
  product,
  minimum,
  maximum,
  bit_and,
  bit_or,
  bit_xor,
  logical_and,
  logical_or,
  logical_xor,
};

// A thread takes several units, whose loads are in flight together: of 16 bytes, or scalars.
inline constexpr std::uint32_t kReductionThreads = 256;  // of a tile
inline constexpr std::uint32_t kUnitsPerThread = 2;
inline constexpr std::uint32_t kWideUnitBytes = 16;

// inout[i] = inout[i] operation in[i], for `count` scalars.
struct Reduction {
  const char* in;
  char* inout;
  std::uint64_t count;
  Operation operation;
  std::uint32_t is_wide;  // both ends are aligned to 16 bytes
};

}  // namespace tempi::pack
