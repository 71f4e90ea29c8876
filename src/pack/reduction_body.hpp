// The code of one thread of the reductions, for the GPU and for the fake device (kernel_body.hpp).
#pragma once

#include <type_traits>

#include "pack/float16.hpp"
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

template <class Scalar>
inline constexpr bool is_complex = false;
template <class Real>
inline constexpr bool is_complex<Complex<Real>> = true;
template <class Scalar>
inline constexpr bool is_located = false;
template <class Value, class Index>
inline constexpr bool is_located<Located<Value, Index>> = true;

template <class Scalar>
inline constexpr bool is_float16 = std::is_same_v<Scalar, Float16> || std::is_same_v<Scalar, BFloat16>;

// The operations for which a scalar has a kernel: all from the first to the last, in the order of
// the enumeration. A signed integer has kernels only for the minimum and the maximum. For other
// operations, the kernels of the unsigned integer are used (reduction.cpp).
template <class Scalar>
inline constexpr bool is_signed_integer = std::is_integral_v<Scalar> && std::is_signed_v<Scalar>;
template <class Scalar>
inline constexpr Operation first_operation = is_located<Scalar>          ? Operation::minimum_location
                                             : is_signed_integer<Scalar> ? Operation::minimum
                                                                         : Operation::sum;
template <class Scalar>
inline constexpr Operation last_operation = is_located<Scalar>           ? Operation::maximum_location
                                            : is_complex<Scalar>         ? Operation::product
                                            : std::is_unsigned_v<Scalar> ? Operation::logical_xor
                                                                         : Operation::maximum;

template <Operation kOperation, class Real>
TEMPI_DEVICE Complex<Real> combined_complex(Complex<Real> a, Complex<Real> b) {
  if constexpr (kOperation == Operation::sum) return {a.real + b.real, a.imaginary + b.imaginary};
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

// Of equal values the lower index counts.
template <Operation kOperation, class Value, class Index>
TEMPI_DEVICE Located<Value, Index> combined_located(Located<Value, Index> a, Located<Value, Index> b) {
  const bool is_first = kOperation == Operation::minimum_location ? a.value < b.value : a.value > b.value;
  if (is_first || (a.value == b.value && a.index < b.index)) return a;
  return b;
}

// If a value is a NaN, or if the values are zeros with different signs, the minimum and the maximum
// are `b`, as in the plain loops of MPI libraries.
template <Operation kOperation, class Scalar>
TEMPI_DEVICE Scalar combined_plain(Scalar a, Scalar b) {
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

template <Operation kOperation, class Scalar>
TEMPI_DEVICE Scalar combined_float16(Scalar a, Scalar b) {
  const float wide_a = widened(a), wide_b = widened(b);
  if constexpr (kOperation == Operation::minimum) return wide_a < wide_b ? a : b;
  else if constexpr (kOperation == Operation::maximum) return wide_a > wide_b ? a : b;
  else return narrowed<Scalar>(combined_plain<kOperation>(wide_a, wide_b));
}

template <Operation kOperation, class Scalar>
TEMPI_DEVICE Scalar combined(Scalar a, Scalar b) {
  if constexpr (is_float16<Scalar>) return combined_float16<kOperation>(a, b);
  else if constexpr (is_complex<Scalar>) return combined_complex<kOperation>(a, b);
  else if constexpr (is_located<Scalar>) return combined_located<kOperation>(a, b);
  else return combined_plain<kOperation>(a, b);
}

template <class Scalar_, std::uint32_t kScalars_>
struct alignas(sizeof(Scalar_) * kScalars_) UnitOf {
  using Scalar = Scalar_;
  static constexpr std::uint32_t kScalars = kScalars_;
  Scalar scalars[kScalars];
};

template <Operation kOperation, class Unit>
TEMPI_DEVICE void combine(Unit& all, const Unit& next) {
  TEMPI_UNROLL
  for (std::uint32_t s = 0; s < Unit::kScalars; ++s) {
    all.scalars[s] = combined<kOperation>(all.scalars[s], next.scalars[s]);
  }
}

template <class Unit>
TEMPI_DEVICE void store_unit(Unit* to, const Unit& unit) {
  if constexpr (is_located<typename Unit::Scalar>) {
    TEMPI_UNROLL
    for (std::uint32_t s = 0; s < Unit::kScalars; ++s) {
      to->scalars[s].value = unit.scalars[s].value;
      to->scalars[s].index = unit.scalars[s].index;
    }
  } else {
    *to = unit;
  }
}

// Scalars that follow each other in all buffers.
struct Run {
  std::uint64_t first_byte, count;
};

// The whole units of a run that are this thread's, `tile.threads` apart.
template <class Unit, class Fn>
TEMPI_DEVICE void each_unit(Run run, Tile tile, const Fn& fn) {
  const std::uint64_t n_units = run.count / Unit::kScalars;
  const std::uint64_t first = std::uint64_t{tile.index} * tile.threads * kUnitsPerThread + tile.thread;
  TEMPI_UNROLL
  for (std::uint32_t k = 0; k < kUnitsPerThread; ++k) {
    const std::uint64_t unit = first + k * tile.threads;
    if (unit < n_units) fn(k, run.first_byte + unit * sizeof(Unit));
  }
}

template <Operation kOperation, class Unit, class Memory>
TEMPI_DEVICE void reduce_units(const Reduction& of, Run run, Tile tile, const Memory& memory) {
  Unit in[kUnitsPerThread], inout[kUnitsPerThread];
  each_unit<Unit>(run, tile, [&](std::uint32_t k, std::uint64_t at) {
    in[k] = *reinterpret_cast<const Unit*>(memory.at(of.in + at));
    inout[k] = *reinterpret_cast<const Unit*>(memory.at(of.inout + at));
  });
  each_unit<Unit>(run, tile, [&](std::uint32_t k, std::uint64_t at) {
    combine<kOperation>(inout[k], in[k]);
    store_unit(reinterpret_cast<Unit*>(memory.at(of.inout + at)), inout[k]);
  });
}

// The number of inputs whose loads are in flight together. They overlap, because a load from the memory of another GPU
// takes a microsecond. The number is smaller for short scalars and short units, to keep the code small.
template <class Unit>
inline constexpr std::uint32_t kInputsAtOnce = sizeof(Unit) == kWideUnitBytes && Unit::kScalars <= 4 ? 4 : 1;

template <Operation kOperation, class Unit, class Memory>
TEMPI_DEVICE void reduce_units_of_tile(const GroupReduction& of, Run run, Tile tile, const Memory& memory) {
  constexpr std::uint32_t kAtOnce = kInputsAtOnce<Unit>;
  Unit all[kUnitsPerThread], next[kUnitsPerThread][kAtOnce];
  each_unit<Unit>(run, tile, [&](std::uint32_t k, std::uint64_t at) {
    all[k] = *reinterpret_cast<const Unit*>(memory.at(of.inputs[0] + at));
  });
  for (std::uint32_t first = 1; first < of.n_inputs; first += kAtOnce) {
    each_unit<Unit>(run, tile, [&](std::uint32_t k, std::uint64_t at) {
      TEMPI_UNROLL
      for (std::uint32_t i = 0; i < kAtOnce; ++i) {
        if (first + i < of.n_inputs) next[k][i] = *reinterpret_cast<const Unit*>(memory.at(of.inputs[first + i] + at));
      }
    });
    each_unit<Unit>(run, tile, [&](std::uint32_t k, std::uint64_t) {
      TEMPI_UNROLL
      for (std::uint32_t i = 0; i < kAtOnce; ++i) {
        if (first + i < of.n_inputs) combine<kOperation>(all[k], next[k][i]);
      }
    });
  }
  for (std::uint32_t i = 0; i < of.n_outputs; ++i) {
    each_unit<Unit>(run, tile, [&](std::uint32_t k, std::uint64_t at) {
      store_unit(reinterpret_cast<Unit*>(memory.at(of.outputs[i] + at)), all[k]);
    });
  }
}

template <Operation kOperation, class Unit, class Memory>
TEMPI_DEVICE void reduce_units(const GroupReduction& of, Run run, Tile tile, const Memory& memory) {
  const std::uint64_t units_of_tile = std::uint64_t{tile.threads} * kUnitsPerThread;
  for (; tile.index * units_of_tile * Unit::kScalars < run.count; tile.index += of.n_tiles) {
    reduce_units_of_tile<kOperation, Unit>(of, run, tile, memory);
  }
}

// The scalars behind the last whole unit are the first tile's.
template <Operation kOperation, class Scalar, class Params, class Memory>
TEMPI_DEVICE void reduce_by(const Params& of, Tile tile, const Memory& memory) {
  constexpr std::uint32_t kScalars = kWideUnitBytes / sizeof(Scalar);
  std::uint64_t n_whole = 0;
  if (of.is_wide != 0) {
    reduce_units<kOperation, UnitOf<Scalar, kScalars>>(of, {0, of.count}, tile, memory);
    if (tile.index != 0) return;
    n_whole = of.count / kScalars * kScalars;
  }
  reduce_units<kOperation, UnitOf<Scalar, 1>>(of, {n_whole * sizeof(Scalar), of.count - n_whole}, tile, memory);
}

template <class Scalar, Operation kOperation, class Params, class Memory>
TEMPI_DEVICE void reduce_if(const Params& of, Tile tile, const Memory& memory) {
  if constexpr (first_operation<Scalar> <= kOperation && kOperation <= last_operation<Scalar>)
    reduce_by<kOperation, Scalar>(of, tile, memory);
}

template <class Scalar, class Params, class Memory>
TEMPI_DEVICE void reduce(const Params& of, Tile tile, const Memory& memory) {
  switch (of.operation) {
    case Operation::sum: return reduce_if<Scalar, Operation::sum>(of, tile, memory);
    case Operation::product: return reduce_if<Scalar, Operation::product>(of, tile, memory);
    case Operation::minimum: return reduce_if<Scalar, Operation::minimum>(of, tile, memory);
    case Operation::maximum: return reduce_if<Scalar, Operation::maximum>(of, tile, memory);
    case Operation::bit_and: return reduce_if<Scalar, Operation::bit_and>(of, tile, memory);
    case Operation::bit_or: return reduce_if<Scalar, Operation::bit_or>(of, tile, memory);
    case Operation::bit_xor: return reduce_if<Scalar, Operation::bit_xor>(of, tile, memory);
    case Operation::logical_and: return reduce_if<Scalar, Operation::logical_and>(of, tile, memory);
    case Operation::logical_or: return reduce_if<Scalar, Operation::logical_or>(of, tile, memory);
    case Operation::logical_xor: return reduce_if<Scalar, Operation::logical_xor>(of, tile, memory);
    case Operation::minimum_location: return reduce_if<Scalar, Operation::minimum_location>(of, tile, memory);
    case Operation::maximum_location: return reduce_if<Scalar, Operation::maximum_location>(of, tile, memory);
  }
}

}  // namespace tempi::pack
