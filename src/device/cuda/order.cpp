#include "device/cuda/order.hpp"

#include <array>
#include <atomic>
#include <exception>

#include "device/cuda/current.hpp"
#include "device/cuda/mark.hpp"
#include "device/cuda/primary.hpp"
#include "device/stream_order.hpp"

namespace tempi::device {
namespace {

// The ids of ordered allocations, each in its own place. Ids are counted up: they collide when this many lie between
// them, and then the later one is ordered again.
constexpr std::size_t kRemembered = 1 << 14;
std::array<std::atomic<unsigned long long>, kRemembered> ordered{};

std::atomic<unsigned long long>& place_of(unsigned long long buffer_id) { return ordered[buffer_id % kRemembered]; }

// An event of the legacy stream also waits for the blocking streams of its context, the per-thread default ones among
// them. False if the wait was not possible.
bool wait_for_legacy_stream(const CudaDriver& driver, Life& life) noexcept try {
  const Pushed here(driver, life.handle);
  CUstreamCaptureStatus status{};
  if (!here || driver.cuStreamIsCapturing(CU_STREAM_LEGACY, &status) != CUDA_SUCCESS) return false;
  cuda_mark(driver, life, CU_STREAM_LEGACY)->wait();
  return true;
} catch (const std::exception&) {  // the next use of the context meets the error
  return false;
}

// A copy runs in the context that is current for the program, whichever GPU its bytes go to.
bool wait_for_other_gpus(const CudaDriver& driver, CUcontext own) noexcept {
  int count = 0;
  if (driver.cuDeviceGetCount(&count) != CUDA_SUCCESS) return false;
  bool all_done = true;
  for (CUdevice gpu = 0; gpu < count; ++gpu) {
    CUcontext primary = nullptr;
    if (!is_primary_active(driver, gpu)) continue;
    if (driver.cuDevicePrimaryCtxRetain(&primary, gpu) != CUDA_SUCCESS) continue;
    if (primary != own) all_done = wait_for_legacy_stream(driver, life_of(driver, primary)) && all_done;
    driver.cuDevicePrimaryCtxRelease_v2(gpu);
  }
  return all_done;
}

}  // namespace

bool is_ordered(unsigned long long buffer_id) noexcept {
  return buffer_id != 0 && place_of(buffer_id).load(std::memory_order_acquire) == buffer_id;
}

void note_ordered(unsigned long long buffer_id) noexcept {
  place_of(buffer_id).store(buffer_id, std::memory_order_release);
}

void order_after_program(const CudaDriver& driver, const CudaAllocation& allocation) noexcept {
  if (is_ordered(allocation.buffer_id) || InPlaceOfStream::lives()) return;
  const RelaxedCapture relaxed(driver);
  unsigned on = 1;
  const CUresult set = driver.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, allocation.address);
  const bool is_done = wait_for_legacy_stream(driver, allocation.life);
  const bool others_done = wait_for_other_gpus(driver, allocation.life.handle);
  if (set == CUDA_SUCCESS && !allocation.is_of_pool && is_done && others_done) note_ordered(allocation.buffer_id);
}

}  // namespace tempi::device
