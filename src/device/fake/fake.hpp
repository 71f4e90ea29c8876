// A GPU for tests: two fake devices (ordinals 0 and 1). Their kernels run on the CPU, late, and in any order between
// queues. Only finish() or a reached mark guarantees that a launch or a copy is done. The program's own copies are also
// late, as with CUDA: the bytes of a synchronous copy have arrived only after locate() was called for the memory.
#pragma once

#include "device/device.hpp"

namespace tempi::device {

Device* fake_device() noexcept;  // null when the system refuses its memory

// The program's cudaMalloc, cudaFree and cudaMemcpy. TEMPI_FAKE_FAIL does not fail them.
void* fake_allocate(MemoryKind kind, int ordinal, std::size_t bytes) noexcept;   // null on failure
void* fake_allocate(const char* kind, int ordinal, std::size_t bytes) noexcept;  // "device", "pinned", "managed"
void fake_deallocate(void* address) noexcept;
// Returns as early as cudaMemcpy; false for an illegal address.
bool fake_copy(void* dst, const void* src, std::size_t bytes) noexcept;
// The program's cudaDeviceReset: ends all memory and all queued work of the GPU. The next context
// begins, and uses the same addresses again. The fake device aborts the process if TEMPI then frees
// memory of the ended context.
void fake_end_context(int ordinal) noexcept;

// The program's streams, which run late and out of order: cudaStreamCreateWithFlags(cudaStreamNonBlocking), ...
// Null, or false, on failure. A stream may also be one of the default ones: 1 (legacy, of GPU 0) or 2 (per thread).
StreamHandle fake_stream_create(int ordinal) noexcept;
void fake_stream_destroy(StreamHandle stream) noexcept;
bool fake_stream_copy(void* dst, const void* src, std::size_t bytes, StreamHandle stream) noexcept;
bool fake_stream_fill(void* dst, int value, std::size_t bytes, StreamHandle stream) noexcept;
bool fake_stream_synchronize(StreamHandle stream) noexcept;  // false, too, while it is captured
bool fake_stream_fail(StreamHandle stream) noexcept;         // queues a kernel that fails
bool fake_stream_begin_capture(StreamHandle stream) noexcept;
void* fake_stream_end_capture(StreamHandle stream) noexcept;  // a graph; null if the capture was broken
bool fake_graph_launch(void* graph, StreamHandle stream) noexcept;
void fake_graph_destroy(void* graph) noexcept;

std::size_t fake_unfinished() noexcept;  // operations queued and not yet done

}  // namespace tempi::device
