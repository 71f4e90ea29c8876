// The order between the program's synchronous copies and TEMPI's non-blocking streams.
//
// cudaMemcpy from pageable memory, cudaMemcpy between device memories, and cudaMemset return before their bytes have
// arrived (CUDA runtime API, "API synchronization behavior"). Work in a non-blocking stream that starts after such a
// call can read old bytes.
//
// When TEMPI first sees an allocation, it sets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS. After that, such calls return when
// their bytes have arrived. Copies that were queued before are in the legacy streams. TEMPI waits once for these
// streams. For memory of a pool, and for memory that refuses the attribute, TEMPI waits each time. The program must
// synchronise its asynchronous calls itself.
#pragma once

#include "device/cuda/life.hpp"

namespace tempi::device {

// An allocation, identified by an id that CUDA never reuses (addresses are reused).
struct CudaAllocation {
  CUdeviceptr address;
  unsigned long long buffer_id;
  Life& life;
  bool is_of_pool;  // cudaMallocAsync, virtual memory management: accepts the attribute, but copies return early
};

// True: order_after_program() would return immediately. The allocation was located before, in the last known life of
// its context.
bool is_ordered(unsigned long long buffer_id) noexcept;

// Sets is_ordered(). Also called for host memory, which needs no order.
void note_ordered(unsigned long long buffer_id) noexcept;

// Returns when the bytes of all synchronous copies that have returned are in the allocation. It
// takes a few ns if the allocation is_ordered(). It does not wait while the program captures a
// graph from a blocking stream.
void order_after_program(const CudaDriver& driver, const CudaAllocation& allocation) noexcept;

}  // namespace tempi::device
