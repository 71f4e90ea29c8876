// Marks of the real GPU: events. TEMPI keeps and reuses them, because the creation of an event takes as long as
// recording it.
#pragma once

#include "device/cuda/life.hpp"
#include "device/device.hpp"

namespace tempi::device {

// Of the current context. A mark throws Error (device) when the context has ended.
MarkPtr cuda_mark(const CudaDriver& driver, Life& life, CUstream stream);
void make_wait(CUstream stream, const Mark& mark);

}  // namespace tempi::device
