// The launch parameters in use.
#pragma once

#include "base/tuning.hpp"

namespace tempi::pack {

// This machine's, once the program uses a GPU. Defined in machine/tuning.cpp.
const Tuning& tuning();

}  // namespace tempi::pack
