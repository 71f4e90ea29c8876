#include "device/cuda/driver.hpp"

#include <atomic>
#include <dlfcn.h>
#include <mutex>
#include <string>

#include "base/loaded_libraries.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"

namespace tempi::device {
namespace {

std::atomic<const CudaDriver*> found{nullptr};
std::atomic<bool> unusable{false};
Mutex<Lock::cuda_driver> mutex;

// The last loaded library at the last search for the driver.
std::atomic<const link_map*> tail{nullptr};

bool libraries_were_added() { return !is_last_library(tail.load(std::memory_order_acquire)); }

bool resolve(void* library, CudaDriver& driver) {
  bool complete = true;
  const auto find = [&](const char* name) {
    void* symbol = dlsym(library, name);
    complete = complete && symbol != nullptr;
    return symbol;
  };
#define TEMPI_DRIVER(name, parameters) driver.name = reinterpret_cast<CUresult(*) parameters>(find(#name));
#include "device/cuda/driver.def"
#undef TEMPI_DRIVER
  return complete;
}

// Kernels run on any driver of the same or a newer major version.
bool new_enough(const CudaDriver& driver) {
  int version = 0;
  return driver.cuDriverGetVersion(&version) == CUDA_SUCCESS && version / 1000 >= CUDA_VERSION / 1000;
}

void look_for_driver() {
  const std::lock_guard lock(mutex);
  if (found.load() != nullptr || unusable.load()) return;
  tail.store(hold_last_library(), std::memory_order_release);  // first: one loaded in between is seen the next time
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  static CudaDriver driver;
  if (!resolve(library, driver) || !new_enough(driver)) {
    warn_once("driver", "the CUDA driver is older than CUDA " + std::to_string(CUDA_VERSION / 1000) +
                            ", which this libtempi.so was built with: GPU buffers are left to the MPI library");
    unusable.store(true);
    return;
  }
  found.store(&driver);
}

}  // namespace

const CudaDriver* cuda_driver() noexcept {
  const CudaDriver* driver = found.load(std::memory_order_acquire);
  if (driver != nullptr || unusable.load(std::memory_order_relaxed) || !libraries_were_added()) return driver;
  look_for_driver();
  return found.load(std::memory_order_acquire);
}

}  // namespace tempi::device
