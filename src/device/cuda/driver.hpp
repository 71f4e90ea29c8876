// The CUDA driver's functions, found in the libcuda that the program has loaded.
#pragma once

#include <cstddef>
#include <cuda.h>

// cuda.h renames functions to their newest version with macros. TEMPI uses the names of the exported symbols.
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuStreamDestroy
#undef cuMemAlloc
#undef cuMemFree

namespace tempi::device {

struct CudaDriver {
#define TEMPI_DRIVER(name, parameters) CUresult(*name) parameters;
#include "device/cuda/driver.def"
#undef TEMPI_DRIVER
};

// The loaded driver, or null: not loaded (yet), older than the CUDA that the kernels were built with, or incomplete. If
// the program has loaded no further library, the call is one comparison.
const CudaDriver* cuda_driver() noexcept;

}  // namespace tempi::device
