// This machine as the model knows it: its facts, and its profile.
#pragma once

#include "model/predict.hpp"
#include "model/profile.hpp"

namespace tempi::machine {

// The machine as the process sees it now: without a GPU until the program has begun to use CUDA.
model::Machine machine_facts();

// The driver may be loaded (by the MPI library, say) long before the program begins to use it.
bool uses_gpu();

// The profile that TEMPI_PROFILE names, else this machine's own, else the nearest shipped one, else null. Searched for
// once, and again when the program begins to use CUDA.
const model::Profile* profile();

}  // namespace tempi::machine
