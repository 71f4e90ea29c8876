// The launch parameters in use.
#pragma once

#include "base/tuning.hpp"

namespace tempi::pack {

// If the program uses a GPU, the launch parameters of this machine. Otherwise the defaults. Defined
// in machine/tuning.cpp.
const Tuning& tuning();

}  // namespace tempi::pack
