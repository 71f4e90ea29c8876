// The launch parameters of programs that have a part of pack/ without a machine's profile: the defaults.
#pragma once

#include "pack/tuning.hpp"

namespace tempi::pack {

const Tuning& tuning() {
  static const Tuning defaults;
  return defaults;
}

}  // namespace tempi::pack
