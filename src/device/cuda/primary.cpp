#include "device/cuda/primary.hpp"

#include <map>

#include "base/mutex.hpp"

namespace tempi::device {
namespace {

struct Primary {
  Life* life = nullptr;
  bool is_held = false;  // retained by us
};

struct Primaries {
  Mutex<Lock::primary_contexts> mutex;
  std::map<CUdevice, Primary> of_gpus;
};

Primaries& primaries() {
  static auto& all = *new Primaries;  // never destroyed: threads may use it while the process exits
  return all;
}

// The driver permits it behind a reset, too.
void release(const CudaDriver& driver, CUdevice ordinal, Primary& primary) noexcept {
  if (primary.is_held) driver.cuDevicePrimaryCtxRelease_v2(ordinal);
  primary = {};
}

}  // namespace

bool is_primary_active(const CudaDriver& driver, CUdevice ordinal) noexcept {
  unsigned flags = 0;
  int is_active = 0;
  return driver.cuDevicePrimaryCtxGetState(ordinal, &flags, &is_active) == CUDA_SUCCESS && is_active != 0;
}

Life* primary_life(const CudaDriver& driver, CUdevice ordinal) noexcept {
  const std::lock_guard lock(primaries().mutex);
  Primary& known = primaries().of_gpus[ordinal];
  if (known.life != nullptr && lives(driver, *known.life)) return known.life;
  release(driver, ordinal, known);
  const bool is_programs = is_primary_active(driver, ordinal);
  CUcontext context = nullptr;
  if (driver.cuDevicePrimaryCtxRetain(&context, ordinal) != CUDA_SUCCESS) return nullptr;
  known = {&life_of(driver, context), true};
  if (!is_programs) return known.life;
  driver.cuDevicePrimaryCtxRelease_v2(ordinal);
  known.is_held = false;
  return known.life;
}

void release_primaries(const CudaDriver& driver) noexcept {
  const std::lock_guard lock(primaries().mutex);
  for (auto& [ordinal, primary] : primaries().of_gpus) release(driver, ordinal, primary);
}

}  // namespace tempi::device
