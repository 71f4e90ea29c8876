// This machine as the cost model describes it: its facts and its profile.
#pragma once

#include <string>

#include "model/predict.hpp"
#include "model/profile.hpp"

namespace tempi::machine {

// The machine as the process sees it now: without a GPU until the program has begun to use CUDA.
model::Machine machine_facts();

// The beginning of the library's version text, such as "Open MPI v5.0.11" or "MPICH Version:
// 5.0.2". The rest of the text differs between builds of one version.
std::string library_version();

// True: the program uses a GPU. A loaded driver is not enough: the MPI library may load it long
// before the program uses it.
bool uses_gpu();

// The profile that TEMPI_PROFILE names, else this machine's own, else the nearest shipped one, else null. Searched for
// once, and again when the program begins to use CUDA.
const model::Profile* profile();

}  // namespace tempi::machine
