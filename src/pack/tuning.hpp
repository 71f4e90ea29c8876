// What the kernels are launched with.
#pragma once

#include "base/tuning.hpp"

namespace tempi::pack {

// This machine's, once the program uses a GPU. Defined where the machine is known (machine/tuning.cpp).
const Tuning& tuning();

}  // namespace tempi::pack
