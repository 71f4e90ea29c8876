// The order between the program's synchronous copies and our non-blocking streams.
//
// cudaMemcpy from pageable memory, cudaMemcpy between device memories and cudaMemset return before their bytes have
// arrived (CUDA runtime API, "API synchronization behavior"). A non-blocking stream right behind them reads old bytes.
//
// An allocation that is seen for the first time gets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: from then on such calls return
// when their bytes are there. Copies queued before that are in the legacy streams, which are waited for once. Memory
// of a pool, and memory that refuses the attribute, costs that wait each time. Work of asynchronous calls is the
// program's to synchronise.
#pragma once

#include "device/cuda/life.hpp"

namespace tempi::device {

// An allocation, identified by an id that CUDA never reuses (addresses are reused).
struct CudaAllocation {
  CUdeviceptr address;
  unsigned long long buffer_id;
  Life& life;
  bool is_of_pool;  // cudaMallocAsync, virtual memory management: takes the attribute, and copies return early still
};

// True: order_after_program() would return at once. The allocation has been located, in the last known life of its
// context.
bool is_ordered(unsigned long long buffer_id) noexcept;

// Memory of the host, which needs no order.
void note_ordered(unsigned long long buffer_id) noexcept;

// Returns when the bytes of all synchronous copies that have returned are in the allocation. A few ns for one that was
// seen before. While the program captures a graph on a blocking stream it does not wait.
void order_after_program(const CudaDriver& driver, const CudaAllocation& allocation) noexcept;

}  // namespace tempi::device
