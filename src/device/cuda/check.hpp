// Every call of the driver is checked.
#pragma once

#include <string>

#include "base/error.hpp"
#include "device/cuda/driver.hpp"

namespace tempi::device {

inline void check(const CudaDriver& driver, CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  driver.cuGetErrorName(result, &name);
  const ErrorKind kind = result == CUDA_ERROR_OUT_OF_MEMORY ? ErrorKind::no_memory : ErrorKind::device;
  throw Error(kind, std::string(call) + " failed: " + (name ? name : "unknown CUDA error"));
}

}  // namespace tempi::device
