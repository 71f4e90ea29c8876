#include "base/tuning.hpp"

#include <algorithm>

namespace tempi {

bool Tuning::set(Knob knob, double value) {
  const auto& allowed = kKnobRows[static_cast<std::size_t>(knob)].allowed;
  const auto found = std::find_if(allowed.begin(), allowed.end(),
                                  [&](std::uint32_t one) { return one != 0 && static_cast<double>(one) == value; });
  if (found == allowed.end()) return false;
  values_[static_cast<std::size_t>(knob)] = *found;
  return true;
}

Knob knob_named(std::string_view name) {
  const auto row =
      std::find_if(kKnobRows.begin(), kKnobRows.end(), [&](const KnobRow& one) { return one.name == name; });
  return static_cast<Knob>(row - kKnobRows.begin());
}

std::string changes(const Tuning& tuning) {
  std::string text;
  for (std::size_t i = 0; i < kKnobs; ++i) {
    const std::uint32_t value = tuning[static_cast<Knob>(i)];
    if (value == kKnobRows[i].fallback) continue;
    text += (text.empty() ? "" : ", ") + std::string(kKnobRows[i].name) + " " + std::to_string(value);
  }
  return text;
}

}  // namespace tempi
