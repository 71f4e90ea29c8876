// May the MPI library be given addresses of GPU memory?
#pragma once

#include <string>

namespace tempi::machine {

struct CudaAwareness {
  bool aware;
  std::string reason;  // "MPIX_Query_cuda_support says no", ...
};

// TEMPI_CUDA_AWARE, else what the library says or shows by what it has loaded. The latter shows after MPI_Init.
CudaAwareness find_cuda_awareness();

// Found out once, at the first message.
const CudaAwareness& cuda_awareness();

}  // namespace tempi::machine
