// Marks of the real GPU: events. They are kept and used again, since making one takes as long as recording it.
#pragma once

#include "device/cuda/driver.hpp"
#include "device/device.hpp"

namespace tempi::device {

MarkPtr cuda_mark(const CudaDriver& driver, CUstream stream);  // of the current context
void make_wait(CUstream stream, const Mark& mark);

}  // namespace tempi::device
