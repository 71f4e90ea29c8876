// The launch parameters of this machine, and candidates for them.
#pragma once

#include "pack/tuning.hpp"

namespace tempi::machine {

// While it lives, all kernels of the process are launched with `candidate` instead; plans made before keep their own.
class TuningTrial {
 public:
  explicit TuningTrial(const Tuning& candidate);
  ~TuningTrial();
  TuningTrial(const TuningTrial&) = delete;
  TuningTrial& operator=(const TuningTrial&) = delete;
};

}  // namespace tempi::machine
