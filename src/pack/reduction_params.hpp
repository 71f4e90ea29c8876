// Parameters of the reductions. Compiled by the host compiler and by nvcc: plain data of fixed layout only.
#pragma once

#include <cstdint>

namespace tempi::pack {

// MPI-4.1, 6.9.2 and 6.9.4. has_operation() (reduction.hpp) tells if a scalar has an operation.
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
  minimum_location,
  maximum_location,
};

// The bits of a 16-bit float (float16.hpp). Float16 is binary16 of IEEE 754. BFloat16 is the upper
// half of a binary32.
struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

// The real part comes first, as in C, C++ and Fortran.
template <class Real>
struct alignas(2 * sizeof(Real)) Complex {
  Real real, imaginary;
};

// A value and its index: the element of MPI_MINLOC and MPI_MAXLOC. It may have gaps, which no kernel writes.
template <class Value, class Index>
struct Located {
  Value value;
  Index index;
};

// A thread takes several units. Their loads are in flight together. A unit is kWideUnitBytes long,
// or is one scalar.
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

inline constexpr std::uint32_t kMostReduced = 64;  // buffers on each side

// The most tiles of a group's reduction: one for each multiprocessor. Allreduce among four H200
// (launch to end, us), by this limit:
//
//              64 MiB   256 MiB
//     132         330      1262
//     264         332      1278
//     none        342      1292
inline constexpr std::uint32_t kMostGroupTiles = 132;

// outputs[k][i] = inputs[0][i] operation inputs[1][i] operation ... for each k, for `count` scalars. The thread that
// reads scalar i of all inputs is the one that writes it to all outputs: an output may be an input, at the same place.
struct GroupReduction {
  const char* inputs[kMostReduced];
  char* outputs[kMostReduced];
  std::uint64_t count;
  Operation operation;
  std::uint32_t n_inputs, n_outputs, n_tiles;
  std::uint32_t is_wide;  // all buffers are aligned to 16 bytes
};

}  // namespace tempi::pack
