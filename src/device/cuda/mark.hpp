// Marks of the real GPU: events. TEMPI keeps and reuses them, because the creation of an event takes as long as
// recording it.
#pragma once

#include <cstddef>
#include <memory>

#include "device/cuda/life.hpp"
#include "device/device.hpp"

namespace tempi::device {

// Of the current context. A mark throws Error (device) when the context has ended.
MarkPtr cuda_mark(const CudaDriver& driver, Life& life, CUstream stream);
void make_wait(CUstream stream, const Mark& mark);

// The events of `n` marks for calls in place of a stream, in the current context (Device::prepare_in_place). Throws
// Error (device).
std::shared_ptr<const void> reserve_events(const CudaDriver& driver, Life& life, std::size_t n);

}  // namespace tempi::device
