// A flag that code sets if it has work for later MPI calls of the program. While it is set, these
// calls call Transport::progress (transport/transports.hpp).
#pragma once

#include <atomic>

namespace tempi {

inline std::atomic<bool> wants_progress{false};

}  // namespace tempi
