// The CUDA driver's functions, found in the libcuda that the program has loaded.
#pragma once

#include <cstddef>
#include <cuda.h>

// cuda.h renames functions to their newest version with macros; we name the exported symbols themselves.
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

// The loaded driver, or null: not loaded (yet), older than the CUDA that the kernels were built with, or incomplete.
// While the program loads no further libraries this is one comparison.
const CudaDriver* cuda_driver() noexcept;

}  // namespace tempi::device
