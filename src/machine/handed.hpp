// The calls in which TEMPI may pass GPU memory to the MPI library: handed.def, by library and kind of call.
#pragma once

#include <cstdint>

namespace tempi::machine {

enum class Calls : std::uint8_t {
  messages,
  movement,
  later_movement,
  reductions,
  later_reductions,
  accesses,
  accumulations,
  count
};

// False, too, if the library is not CUDA-aware. Constant from the first message on.
bool may_be_handed(Calls calls);

}  // namespace tempi::machine
