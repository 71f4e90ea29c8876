// 16-bit floats are computed in 32 bits, and rounded to the nearest value (to even bits between two values) after each
// operation.
#pragma once

#include <cstring>
#include <type_traits>

#include "pack/kernel_body.hpp"
#include "pack/reduction_params.hpp"

namespace tempi::pack {

template <class To, class From>
TEMPI_DEVICE To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

TEMPI_DEVICE float widened(BFloat16 value) { return same_bits<float>(std::uint32_t{value.bits} << 16); }

TEMPI_DEVICE float widened(Float16 value) {
#ifdef __CUDA_ARCH__
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
#else
  const std::uint32_t sign = std::uint32_t{value.bits & 0x8000u} << 16, magnitude = value.bits & 0x7fffu;
  if (magnitude >= 0x7c00) return same_bits<float>(sign | 0x7f80'0000u | magnitude << 13);  // infinite, or a NaN
  // Binary32 has more exponents: these bits stand for the value times 2^-112.
  return same_bits<float>(sign | magnitude << 13) * 0x1p112F;
#endif
}

TEMPI_DEVICE BFloat16 to_bfloat16(float wide) {
  const auto bits = same_bits<std::uint32_t>(wide);
  if (wide != wide) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};  // not to become infinite
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

TEMPI_DEVICE Float16 to_float16(float wide) {
#ifdef __CUDA_ARCH__
  Float16 narrow;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(wide));
  return narrow;
#else
  const auto bits = same_bits<std::uint32_t>(wide);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fff'ffff;
  constexpr std::uint32_t kInfinite = 0x7c00, kNotANumber = 0x7e00;
  if (wide != wide) return {static_cast<std::uint16_t>(sign | kNotANumber)};
  if (magnitude >= 0x477f'f000u) return {static_cast<std::uint16_t>(sign | kInfinite)};  // 65520 and more
  if (magnitude < 0x3880'0000u) {  // below 2^-14 the values are 2^-24 apart: an addition rounds to them
    const float rounded = same_bits<float>(magnitude) + 0.5F;
    return {static_cast<std::uint16_t>(sign | (same_bits<std::uint32_t>(rounded) - 0x3f00'0000u))};
  }
  return {static_cast<std::uint16_t>(sign | ((magnitude - 0x3800'0000u + 0xfff + (magnitude >> 13 & 1)) >> 13))};
#endif
}

template <class Float>
TEMPI_DEVICE Float narrowed(float wide) {
  if constexpr (std::is_same_v<Float, Float16>) return to_float16(wide);
  else return to_bfloat16(wide);
}

}  // namespace tempi::pack
