#include "device/cuda/mark.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "device/cuda/check.hpp"

namespace tempi::device {
namespace {

// Unused events by context. Never destroyed: marks may outlive the static objects.
struct Events {
  std::mutex mutex;
  std::map<CUcontext, std::vector<CUevent>> unused;
};

Events& events() {
  static auto& all = *new Events;
  return all;
}

CUevent take_event(const CudaDriver& driver, CUcontext context) {
  {
    const std::lock_guard lock(events().mutex);
    auto& unused = events().unused[context];
    if (!unused.empty()) {
      CUevent event = unused.back();
      unused.pop_back();
      return event;
    }
  }
  CUevent event = nullptr;
  check(driver, driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  return event;
}

class CudaMark final : public Mark {
 public:
  CudaMark(const CudaDriver& driver, CUcontext context, CUstream stream)
      : driver_(driver), context_(context), event_(take_event(driver, context)) {
    check(driver_, driver_.cuEventRecord(event_, stream), "cuEventRecord");
  }
  ~CudaMark() override {
    const std::lock_guard lock(events().mutex);
    events().unused[context_].push_back(event_);
  }
  CudaMark(const CudaMark&) = delete;
  CudaMark& operator=(const CudaMark&) = delete;

  bool reached() override {
    if (is_reached_.load(std::memory_order_acquire)) return true;
    const CUresult result = driver_.cuEventQuery(event_);
    if (result == CUDA_ERROR_NOT_READY) return false;
    check(driver_, result, "cuEventQuery");
    is_reached_.store(true, std::memory_order_release);
    return true;
  }
  void wait() override {
    if (is_reached_.load(std::memory_order_acquire)) return;
    check(driver_, driver_.cuEventSynchronize(event_), "cuEventSynchronize");
    is_reached_.store(true, std::memory_order_release);
  }

  void hold_back(CUstream stream) const {
    check(driver_, driver_.cuStreamWaitEvent(stream, event_, 0), "cuStreamWaitEvent");
  }

 private:
  const CudaDriver& driver_;
  CUcontext context_;
  CUevent event_;
  std::atomic<bool> is_reached_{false};  // a batch's mark is asked once for each of its messages
};

}  // namespace

MarkPtr cuda_mark(const CudaDriver& driver, CUstream stream) {
  CUcontext context = nullptr;
  check(driver, driver.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  return std::make_shared<CudaMark>(driver, context, stream);
}

void make_wait(CUstream stream, const Mark& mark) { static_cast<const CudaMark&>(mark).hold_back(stream); }

}  // namespace tempi::device
