// This machine as the model knows it: its facts, and its profile.
#pragma once

#include "model/predict.hpp"
#include "model/profile.hpp"

namespace tempi::machine {

// As the process sees it now: without a GPU until the program has begun to use CUDA.
model::Machine machine_facts();

// The driver may be loaded (by the MPI library, say) long before the program begins to use it.
bool uses_gpu();

// What TEMPI_PROFILE asks for, else this machine's own, else the nearest shipped one, else null. Looked for once, and
// once more when the program begins to use CUDA.
const model::Profile* profile();

}  // namespace tempi::machine
