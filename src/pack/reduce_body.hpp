// The per-thread body of the kernels that reduce: for the GPU, and for the fake device (kernel_body.hpp).
#pragma once

#include <type_traits>

#include "pack/kernel_body.hpp"
#include "pack/reduce_params.hpp"

namespace tempi::pack {

// Sums and products of integers wrap around: an unsigned type, which narrower ones are not promoted from.
template <class T, bool kIsWhole = std::is_integral_v<T>>
struct WrappingOf {
  using Type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
};
template <class T>
struct WrappingOf<T, false> {
  using Type = T;
};

template <Operation kOperation, class T>
TEMPI_DEVICE T combined(T a, T b) {
  using Wrapping = typename WrappingOf<T>::Type;
  if constexpr (kOperation == Operation::sum)
    return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
  if constexpr (kOperation == Operation::product)
    return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
  if constexpr (kOperation == Operation::least) return a < b ? a : b;
  if constexpr (kOperation == Operation::greatest) return a > b ? a : b;
  if constexpr (kOperation == Operation::bit_and) return static_cast<T>(a & b);
  if constexpr (kOperation == Operation::bit_or) return static_cast<T>(a | b);
  if constexpr (kOperation == Operation::bit_xor) return static_cast<T>(a ^ b);
  if constexpr (kOperation == Operation::logical_and) return static_cast<T>(a != 0 && b != 0);
  if constexpr (kOperation == Operation::logical_or) return static_cast<T>(a != 0 || b != 0);
  if constexpr (kOperation == Operation::logical_xor) return static_cast<T>((a != 0) != (b != 0));
}

template <class T, std::uint32_t kElements>
struct alignas(sizeof(T) * kElements) UnitOf {
  T elements[kElements];
};

template <Operation kOperation, class T, std::uint32_t kElements, class Memory>
TEMPI_DEVICE void reduce_units(const Reduction& of, Tile tile, const Memory& memory) {
  using Unit = UnitOf<T, kElements>;
  const std::uint64_t n_units = of.n / kElements;
  const std::uint64_t first = std::uint64_t{tile.index} * tile.threads * kReducedPerThread + tile.thread;
  Unit in[kReducedPerThread], inout[kReducedPerThread];
  TEMPI_UNROLL
  for (std::uint32_t k = 0; k < kReducedPerThread; ++k) {
    const std::uint64_t unit = first + k * tile.threads;
    if (unit >= n_units) continue;
    in[k] = *reinterpret_cast<const Unit*>(memory.at(of.in + unit * sizeof(Unit)));
    inout[k] = *reinterpret_cast<const Unit*>(memory.at(of.inout + unit * sizeof(Unit)));
  }
  TEMPI_UNROLL
  for (std::uint32_t k = 0; k < kReducedPerThread; ++k) {
    const std::uint64_t unit = first + k * tile.threads;
    if (unit >= n_units) continue;
    TEMPI_UNROLL
    for (std::uint32_t e = 0; e < kElements; ++e) {
      inout[k].elements[e] = combined<kOperation>(in[k].elements[e], inout[k].elements[e]);
    }
    *reinterpret_cast<Unit*>(memory.at(of.inout + unit * sizeof(Unit))) = inout[k];
  }
}

// The elements behind the last whole unit are the first threads'.
template <Operation kOperation, class T, class Memory>
TEMPI_DEVICE void reduce_with(const Reduction& of, Tile tile, const Memory& memory) {
  constexpr std::uint32_t kElements = kReducedBytes / sizeof(T);
  if (of.is_wide == 0) return reduce_units<kOperation, T, 1>(of, tile, memory);
  reduce_units<kOperation, T, kElements>(of, tile, memory);
  const std::uint64_t element = of.n / kElements * kElements + tile.thread;
  if (tile.index != 0 || element >= of.n) return;
  const T in = *reinterpret_cast<const T*>(memory.at(of.in + element * sizeof(T)));
  T* const inout = reinterpret_cast<T*>(memory.at(of.inout + element * sizeof(T)));
  *inout = combined<kOperation>(in, *inout);
}

template <class T, class Memory>
TEMPI_DEVICE void reduce(const Reduction& of, Tile tile, const Memory& memory) {
  switch (of.operation) {
    case Operation::sum: return reduce_with<Operation::sum, T>(of, tile, memory);
    case Operation::product: return reduce_with<Operation::product, T>(of, tile, memory);
    case Operation::least: return reduce_with<Operation::least, T>(of, tile, memory);
    case Operation::greatest: return reduce_with<Operation::greatest, T>(of, tile, memory);
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (of.operation) {
      case Operation::bit_and: return reduce_with<Operation::bit_and, T>(of, tile, memory);
      case Operation::bit_or: return reduce_with<Operation::bit_or, T>(of, tile, memory);
      case Operation::bit_xor: return reduce_with<Operation::bit_xor, T>(of, tile, memory);
      case Operation::logical_and: return reduce_with<Operation::logical_and, T>(of, tile, memory);
      case Operation::logical_or: return reduce_with<Operation::logical_or, T>(of, tile, memory);
      case Operation::logical_xor: return reduce_with<Operation::logical_xor, T>(of, tile, memory);
      default: break;
    }
  }
}

}  // namespace tempi::pack
