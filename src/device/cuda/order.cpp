#include "device/cuda/order.hpp"

#include <array>
#include <atomic>

#include "device/cuda/mark.hpp"

namespace tempi::device {
namespace {

// The ids of ordered allocations, each in its own place. Ids are counted up: they collide when this many lie between
// them, and then the later one is ordered again.
constexpr std::size_t kRemembered = 1 << 14;
std::array<std::atomic<unsigned long long>, kRemembered> ordered{};

std::atomic<unsigned long long>& place_of(unsigned long long buffer_id) { return ordered[buffer_id % kRemembered]; }

// Scope that allows calls forbidden to a thread that captures a graph.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const CudaDriver& driver) : driver_(driver) {
    driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedCapture() { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const CudaDriver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// An event of the legacy stream also waits for the blocking streams of its context, the per-thread default ones among
// them. False if the wait was not possible.
bool wait_for_legacy_stream(const CudaDriver& driver, CUcontext context) noexcept {
  if (driver.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) return false;
  bool is_done = false;
  CUstreamCaptureStatus status{};
  try {
    if (driver.cuStreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_SUCCESS) {
      cuda_mark(driver, CU_STREAM_LEGACY)->wait();
      is_done = true;
    }
  } catch (const std::exception&) {  // the next use of the context meets the error
  }
  CUcontext popped = nullptr;
  driver.cuCtxPopCurrent_v2(&popped);
  return is_done;
}

// A copy runs in the context that is current for the program, whichever GPU its bytes go to.
bool wait_for_other_gpus(const CudaDriver& driver, CUcontext own) noexcept {
  int count = 0;
  if (driver.cuDeviceGetCount(&count) != CUDA_SUCCESS) return false;
  bool all_done = true;
  for (CUdevice gpu = 0; gpu < count; ++gpu) {
    unsigned flags = 0;
    int is_active = 0;
    CUcontext primary = nullptr;
    if (driver.cuDevicePrimaryCtxGetState(gpu, &flags, &is_active) != CUDA_SUCCESS || is_active == 0) continue;
    if (driver.cuDevicePrimaryCtxRetain(&primary, gpu) != CUDA_SUCCESS) continue;
    if (primary != own) all_done = wait_for_legacy_stream(driver, primary) && all_done;
    driver.cuDevicePrimaryCtxRelease_v2(gpu);
  }
  return all_done;
}

}  // namespace

bool is_ordered(unsigned long long buffer_id) noexcept {
  return buffer_id != 0 && place_of(buffer_id).load(std::memory_order_acquire) == buffer_id;
}

void order_after_program(const CudaDriver& driver, const CudaAllocation& allocation) noexcept {
  if (is_ordered(allocation.buffer_id)) return;
  const RelaxedCapture relaxed(driver);
  unsigned on = 1;
  const CUresult set = driver.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, allocation.address);
  const bool is_done = wait_for_legacy_stream(driver, allocation.context);
  const bool others_done = wait_for_other_gpus(driver, allocation.context);
  if (set == CUDA_SUCCESS && !allocation.is_of_pool && is_done && others_done)
    place_of(allocation.buffer_id).store(allocation.buffer_id, std::memory_order_release);
}

}  // namespace tempi::device
