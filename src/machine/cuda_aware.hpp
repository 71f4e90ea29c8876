// CUDA-awareness: whether the MPI library accepts addresses of GPU memory.
#pragma once

#include <string>

namespace tempi::machine {

struct CudaAwareness {
  bool aware;
  std::string reason;  // "MPIX_Query_cuda_support says no", ...
};

// TEMPI_CUDA_AWARE, else the library's own answer, else the libraries that it has loaded (after MPI_Init).
CudaAwareness find_cuda_awareness();

// True: the library says that it was built with CUDA. A library that was built without CUDA may
// also be CUDA-aware, because it sends through UCX.
bool is_built_with_cuda();

// Determined once, at the first message.
const CudaAwareness& cuda_awareness();

}  // namespace tempi::machine
