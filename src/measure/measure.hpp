// The measurements of `tempi measure`: the parts of a message, with the code of the shim, and whole messages.
#pragma once

#include <vector>

#include "measure/measurement.hpp"

namespace tempi::measure {

// Seconds of each repetition; the first two are not counted. Throws std::exception with the reason when it cannot.
std::vector<double> measure(const Measurement& what);

}  // namespace tempi::measure
