// The per-thread body of the reductions, for the GPU and for the fake device (kernel_body.hpp).
#pragma once

#include <type_traits>

#include "pack/kernel_body.hpp"
#include "pack/reduction_params.hpp"

namespace tempi::pack {

// Sums and products of integers wrap around. They are computed in an unsigned type of at least 32 bits: narrower ones
// are promoted to int, whose overflow is undefined.
template <class Scalar, bool kIsInteger = std::is_integral_v<Scalar>>
struct ComputedIn {
  using Type = std::conditional_t<sizeof(Scalar) == 8, std::uint64_t, std::uint32_t>;
};
template <class Scalar>
struct ComputedIn<Scalar, false> {
  using Type = Scalar;
};

// Of a NaN, or of zeros with different signs, a minimum is `b`, as in the plain loops of MPI libraries.
template <Operation kOperation, class Scalar>
TEMPI_DEVICE Scalar combined(Scalar a, Scalar b) {
  using Wide = typename ComputedIn<Scalar>::Type;
  if constexpr (kOperation == Operation::sum) return static_cast<Scalar>(static_cast<Wide>(a) + static_cast<Wide>(b));
  if constexpr (kOperation == Operation::product)
    return static_cast<Scalar>(static_cast<Wide>(a) * static_cast<Wide>(b));
  if constexpr (kOperation == Operation::minimum) return a < b ? a : b;
  if constexpr (kOperation == Operation::maximum) return a > b ? a : b;
  if constexpr (kOperation == Operation::bit_and) return static_cast<Scalar>(a & b);
  if constexpr (kOperation == Operation::bit_or) return static_cast<Scalar>(a | b);
  if constexpr (kOperation == Operation::bit_xor) return static_cast<Scalar>(a ^ b);
  if constexpr (kOperation == Operation::logical_and) return static_cast<Scalar>(a != 0 && b != 0);
  if constexpr (kOperation == Operation::logical_or) return static_cast<Scalar>(a != 0 || b != 0);
  if constexpr (kOperation == Operation::logical_xor) return static_cast<Scalar>((a != 0) != (b != 0));
}

template <class Scalar, std::uint32_t kScalars>
struct alignas(sizeof(Scalar) * kScalars) UnitOf {
  Scalar scalars[kScalars];
};

template <Operation kOperation, class Scalar, std::uint32_t kScalars, class Memory>
TEMPI_DEVICE void reduce_units(const Reduction& of, Tile tile, const Memory& memory) {
  using Unit = UnitOf<Scalar, kScalars>;
  const std::uint64_t n_units = of.count / kScalars;
  const std::uint64_t first = std::uint64_t{tile.index} * tile.threads * kUnitsPerThread + tile.thread;
  Unit in[kUnitsPerThread], inout[kUnitsPerThread];
  TEMPI_UNROLL
  for (std::uint32_t k = 0; k < kUnitsPerThread; ++k) {
    const std::uint64_t unit = first + k * tile.threads;
    if (unit >= n_units) continue;
    in[k] = *reinterpret_cast<const Unit*>(memory.at(of.in + unit * sizeof(Unit)));
    inout[k] = *reinterpret_cast<const Unit*>(memory.at(of.inout + unit * sizeof(Unit)));
  }
  TEMPI_UNROLL
  for (std::uint32_t k = 0; k < kUnitsPerThread; ++k) {
    const std::uint64_t unit = first + k * tile.threads;
    if (unit >= n_units) continue;
    TEMPI_UNROLL
    for (std::uint32_t s = 0; s < kScalars; ++s) {
      inout[k].scalars[s] = combined<kOperation>(inout[k].scalars[s], in[k].scalars[s]);
    }
    *reinterpret_cast<Unit*>(memory.at(of.inout + unit * sizeof(Unit))) = inout[k];
  }
}

// The scalars behind the last whole unit are the first threads'.
template <Operation kOperation, class Scalar, class Memory>
TEMPI_DEVICE void reduce_by(const Reduction& of, Tile tile, const Memory& memory) {
  constexpr std::uint32_t kScalars = kWideUnitBytes / sizeof(Scalar);
  if (of.is_wide == 0) return reduce_units<kOperation, Scalar, 1>(of, tile, memory);
  reduce_units<kOperation, Scalar, kScalars>(of, tile, memory);
  const std::uint64_t at = of.count / kScalars * kScalars + tile.thread;
  if (tile.index != 0 || at >= of.count) return;
  const Scalar in = *reinterpret_cast<const Scalar*>(memory.at(of.in + at * sizeof(Scalar)));
  Scalar* const inout = reinterpret_cast<Scalar*>(memory.at(of.inout + at * sizeof(Scalar)));
  *inout = combined<kOperation>(*inout, in);
}

template <class Scalar, class Memory>
TEMPI_DEVICE void reduce(const Reduction& of, Tile tile, const Memory& memory) {
  switch (of.operation) {
    case Operation::sum: return reduce_by<Operation::sum, Scalar>(of, tile, memory);
    case Operation::product: return reduce_by<Operation::product, Scalar>(of, tile, memory);
    case Operation::minimum: return reduce_by<Operation::minimum, Scalar>(of, tile, memory);
    case Operation::maximum: return reduce_by<Operation::maximum, Scalar>(of, tile, memory);
    default: break;
  }
  if constexpr (std::is_integral_v<Scalar>) {
    switch (of.operation) {
      case Operation::bit_and: return reduce_by<Operation::bit_and, Scalar>(of, tile, memory);
      case Operation::bit_or: return reduce_by<Operation::bit_or, Scalar>(of, tile, memory);
      case Operation::bit_xor: return reduce_by<Operation::bit_xor, Scalar>(of, tile, memory);
      case Operation::logical_and: return reduce_by<Operation::logical_and, Scalar>(of, tile, memory);
      case Operation::logical_or: return reduce_by<Operation::logical_or, Scalar>(of, tile, memory);
      case Operation::logical_xor: return reduce_by<Operation::logical_xor, Scalar>(of, tile, memory);
      default: break;
    }
  }
}

}  // namespace tempi::pack
