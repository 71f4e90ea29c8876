#include "device/cuda/flags.hpp"

#include <thread>

#include "base/page.hpp"
#include "base/recycled.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/current.hpp"
#include "device/host_pages.hpp"

namespace tempi::device {
namespace {

constexpr int kPollsBetweenChecks = 4096;

class FlagMark final : public Mark {
 public:
  explicit FlagMark(const Told& told) : told_(told) {}
  bool reached() override {
    if (told_.is_done()) return true;
    if (++n_polls_ % kPollsBetweenChecks == 0) told_.flags->check();
    return false;
  }
  void wait() override { told_.wait(); }

 private:
  const Told told_;
  std::atomic<int> n_polls_{0};
};

}  // namespace

Flags::Flags(const CudaDriver& driver, Life& life, CUstream stream) : driver_(driver), life_(life) {
  constexpr unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
  static_assert(kFlags * kApart * sizeof(std::uint32_t) <= std::size_t{kPageBytes});
  const auto check_call = [&](CUresult result, const char* call) { device::check(driver_, result, call); };
  words_ = static_cast<std::uint32_t*>(allocate_host_pages(kPageBytes));
  check_call(driver_.cuMemHostRegister_v2(words_, kPageBytes, flags), "cuMemHostRegister");
  check_call(driver_.cuMemAlloc_v2(&counts_, kFlags * sizeof(std::uint32_t)), "cuMemAlloc");
  for (std::size_t i = 0; i < kFlags; ++i) word(i) = 0;
  const auto zeros = reinterpret_cast<CUdeviceptr>(words_);
  check_call(driver_.cuMemcpyAsync(counts_, zeros, kFlags * sizeof(std::uint32_t), stream), "cuMemcpyAsync");
  check_call(driver_.cuEventCreate(&reached_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  check_call(driver_.cuEventRecord(reached_, stream), "cuEventRecord");
  check_call(driver_.cuEventSynchronize(reached_), "cuEventSynchronize");
  for (std::size_t i = 0; i < kFlags; ++i) word(i) = 1;
}

// Memory of a failed attempt is left: there is one for each queue at most.
Flags* Flags::make(const CudaDriver& driver, Life& life, CUstream stream) noexcept try {
  return new Flags(driver, life, stream);
} catch (...) {
  return nullptr;  // events tell the ends
}

Done Flags::done(std::size_t i) const { return {reinterpret_cast<std::uint32_t*>(counts_) + i, &word(i)}; }

bool Flags::is_free(std::size_t i) const { return std::atomic_ref(word(i)).load(std::memory_order_acquire) == 1; }

// The number first: a reader that finds this launch's word finds its number, too.
std::uint64_t Flags::arm(std::size_t i) {
  const std::uint64_t number = numbers_.at(i).fetch_add(1, std::memory_order_release) + 1;
  std::atomic_ref(word(i)).store(0, std::memory_order_release);
  return number;
}

bool Flags::is_done(std::size_t i, std::uint64_t number) const {
  return is_free(i) || numbers_.at(i).load(std::memory_order_acquire) != number;
}

void Flags::check() const {
  check_life(driver_, life_);
  const RelaxedCapture relaxed(driver_);
  device::check(driver_, driver_.cuEventQuery(reached_), "cuEventQuery");
}

void Told::wait() const {
  for (int n = 1; !is_done(); ++n) {
    if (n % kPollsBetweenChecks != 0) continue;
    flags->check();
    std::this_thread::yield();
  }
}

MarkPtr mark_of(const Told& told) { return make_recycled<FlagMark>(told); }

}  // namespace tempi::device
