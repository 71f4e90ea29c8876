// The launch parameters of the kernels as one value: the defaults, or faster values that were measured on the GPU.
//
// Glossary
//   knob  one launch parameter, a row of tuning.def; kernels are compiled for its allowed values only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tempi {

enum class Knob : std::uint8_t {
#define TEMPI_TUNING(name, fallback, meaning, ...) name,
#include "base/tuning.def"
#undef TEMPI_TUNING
  count
};
inline constexpr std::size_t kKnobs = static_cast<std::size_t>(Knob::count);

struct KnobRow {
  const char* name;
  std::uint32_t fallback;
  const char* meaning;
  std::array<std::uint32_t, 5> allowed;  // ascending, then zeros
};
inline constexpr std::array<KnobRow, kKnobs> kKnobRows{{
#define TEMPI_TUNING(name, fallback, meaning, ...) {#name, fallback, meaning, {__VA_ARGS__}},
#include "base/tuning.def"
#undef TEMPI_TUNING
}};

class Tuning {
 public:
  constexpr Tuning() {
    for (std::size_t i = 0; i < kKnobs; ++i) values_[i] = kKnobRows[i].fallback;
  }

  constexpr std::uint32_t operator[](Knob knob) const { return values_[static_cast<std::size_t>(knob)]; }

  // The value of one of five knobs, one for each word size; the first is that of 1-byte words.
  constexpr std::uint32_t of_word(Knob of_one_byte, std::uint32_t word_bytes) const {
    auto knob = static_cast<std::size_t>(of_one_byte);
    for (; word_bytes > 1; word_bytes /= 2) ++knob;
    return values_[knob];
  }

  // False, and nothing is changed, when no kernel was built for `value`.
  bool set(Knob knob, double value);

  bool operator==(const Tuning& other) const { return values_ == other.values_; }

 private:
  std::array<std::uint32_t, kKnobs> values_{};
};

Knob knob_named(std::string_view name);     // Knob::count when there is none
std::string changes(const Tuning& tuning);  // the values that are not the default: "threads 256, deep_8 4"

}  // namespace tempi
