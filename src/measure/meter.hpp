// Code for all measurements: a GPU, memory, and repetition.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "datatype/decode.hpp"
#include "device/device.hpp"

namespace tempi::measure {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct SampleLimit {
  double max_seconds;
  std::size_t max_samples;
};

// Repeats `once`, which returns its own time in seconds, until the samples or the time are used up, at least once. The
// first repetitions are not counted.
inline constexpr int kNotCounted = 2;
std::vector<double> repeat(SampleLimit limit, const std::function<double()>& once);
std::vector<double> repeat_timed(SampleLimit limit, const std::function<void()>& call);

// Throws std::runtime_error unless the call of MPI has succeeded.
void check(int code, const char* call);

// The only place where TEMPI initialises CUDA: no user program is running here. Throws std::runtime_error.
device::Device& gpu();

int world_rank();
device::Context my_context();  // of GPU number (rank on the node) modulo (number of GPUs)

// A program's datatype with its canonical tree. Throws if it is not understood.
datatype::Type decoded(std::uint64_t datatype);

// Memory for one measurement: of the host, or of this rank's GPU.
class Memory {
 public:
  Memory(device::MemoryKind kind, std::int64_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* data() { return kind_ == device::MemoryKind::host ? host_.data() : static_cast<char*>(data_); }

 private:
  device::MemoryKind kind_;
  std::size_t bytes_;
  device::Context context_ = nullptr;
  void* data_ = nullptr;
  std::vector<char> host_;
};

}  // namespace tempi::measure
