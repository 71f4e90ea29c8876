// Set by code that has work for later MPI calls of the program (transport/transports.hpp calls it).
#pragma once

#include <atomic>

namespace tempi {

inline std::atomic<bool> wants_progress{false};

}  // namespace tempi
