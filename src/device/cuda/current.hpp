// Guards that change the state of the calling thread in the driver.
#pragma once

#include "device/cuda/driver.hpp"

namespace tempi::device {

// Allows calls that are forbidden to a thread that captures a graph.
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

// Makes a context current, if the driver permits it. The context exists.
class Pushed {
 public:
  Pushed(const CudaDriver& driver, CUcontext context)
      : driver_(driver), is_pushed_(driver.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {}
  ~Pushed() {
    CUcontext popped = nullptr;
    if (is_pushed_) driver_.cuCtxPopCurrent_v2(&popped);
  }
  Pushed(const Pushed&) = delete;
  Pushed& operator=(const Pushed&) = delete;
  explicit operator bool() const { return is_pushed_; }

 private:
  const CudaDriver& driver_;
  const bool is_pushed_;
};

}  // namespace tempi::device
