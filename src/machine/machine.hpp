// This machine as the cost model describes it: its facts and its profile.
#pragma once

#include <string>

#include "model/predict.hpp"
#include "model/profile.hpp"

namespace tempi::machine {

// The machine as the process sees it now: without a GPU until the program has begun to use CUDA.
model::Machine machine_facts();

// "Open MPI v5.0.11" or "MPICH Version: 5.0.2": the text after it differs from build to build.
std::string library_version();

// The driver may be loaded (by the MPI library, say) long before the program begins to use it.
bool uses_gpu();

// The profile that TEMPI_PROFILE names, else this machine's own, else the nearest shipped one, else null. Searched for
// once, and again when the program begins to use CUDA.
const model::Profile* profile();

}  // namespace tempi::machine
