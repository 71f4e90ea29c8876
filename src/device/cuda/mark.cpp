#include "device/cuda/mark.hpp"

#include <atomic>
#include <vector>

#include "device/cuda/check.hpp"
#include "device/cuda/current.hpp"
#include "device/stream_order.hpp"

namespace tempi::device {
namespace {

CUevent make_event(const CudaDriver& driver) {
  CUevent event = nullptr;
  check(driver, driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  return event;
}

CUevent take_event(const CudaDriver& driver, Life& life) {
  {
    const std::lock_guard lock(life.mutex);
    auto& unused = life.unused_events;
    if (unused.size() > (InPlaceOfStream::lives() ? 0 : life.n_reserved_events)) {
      CUevent event = unused.back();
      unused.pop_back();
      return event;
    }
  }
  return make_event(driver);
}

class ReservedEvents {
 public:
  ReservedEvents(const CudaDriver& driver, Life& life, std::size_t n) : life_(life), n_(n) {
    std::vector<CUevent> made(n);
    for (CUevent& event : made) event = make_event(driver);
    const std::lock_guard lock(life.mutex);
    life.unused_events.insert(life.unused_events.end(), made.begin(), made.end());
    life.n_reserved_events += n;
  }
  ~ReservedEvents() {
    const std::lock_guard lock(life_.mutex);
    life_.n_reserved_events -= n_;
  }
  ReservedEvents(const ReservedEvents&) = delete;
  ReservedEvents& operator=(const ReservedEvents&) = delete;

 private:
  Life& life_;
  const std::size_t n_;
};

class CudaMark final : public Mark {
 public:
  CudaMark(const CudaDriver& driver, Life& life, CUstream stream)
      : driver_(driver), life_(life), event_(take_event(driver, life)) {
    check(driver_, driver_.cuEventRecord(event_, stream), "cuEventRecord");
  }
  ~CudaMark() override {
    const std::lock_guard lock(life_.mutex);
    life_.unused_events.push_back(event_);
  }
  CudaMark(const CudaMark&) = delete;
  CudaMark& operator=(const CudaMark&) = delete;

  bool reached() override {
    if (is_reached_.load(std::memory_order_acquire)) return true;
    check_life(driver_, life_);
    const RelaxedCapture relaxed(driver_);  // any thread may be capturing a graph
    const CUresult result = driver_.cuEventQuery(event_);
    if (result == CUDA_ERROR_NOT_READY) return false;
    check(driver_, result, "cuEventQuery");
    is_reached_.store(true, std::memory_order_release);
    return true;
  }
  void wait() override {
    if (is_reached_.load(std::memory_order_acquire)) return;
    check_life(driver_, life_);
    const RelaxedCapture relaxed(driver_);
    check(driver_, driver_.cuEventSynchronize(event_), "cuEventSynchronize");
    is_reached_.store(true, std::memory_order_release);
  }

  void hold_back(CUstream stream) const {
    check_life(driver_, life_);
    check(driver_, driver_.cuStreamWaitEvent(stream, event_, 0), "cuStreamWaitEvent");
  }

 private:
  const CudaDriver& driver_;
  Life& life_;
  CUevent event_;
  std::atomic<bool> is_reached_{false};  // a batch's mark is asked once for each of its messages
};

}  // namespace

std::shared_ptr<const void> reserve_events(const CudaDriver& driver, Life& life, std::size_t n) {
  return std::make_shared<ReservedEvents>(driver, life, n);
}

MarkPtr cuda_mark(const CudaDriver& driver, Life& life, CUstream stream) {
  return std::make_shared<CudaMark>(driver, life, stream);
}

void make_wait(CUstream stream, const Mark& mark) { static_cast<const CudaMark&>(mark).hold_back(stream); }

}  // namespace tempi::device
