#include "device/cuda_driver.hpp"

#include <atomic>
#include <dlfcn.h>
#include <link.h>
#include <mutex>
#include <string>

#include "base/log.hpp"

namespace tempi::device {
namespace {

std::atomic<const CudaDriver*> found{nullptr};
std::atomic<bool> unusable{false};
std::mutex mutex;

// The last library in the loader's list when we last looked for the driver. New libraries are appended, so nothing new
// was loaded while it has no successor. We hold a reference on it: it cannot be unloaded under us.
std::atomic<const link_map*> tail{nullptr};

bool libraries_were_added() {
  const link_map* last = tail.load(std::memory_order_acquire);
  return last == nullptr || __atomic_load_n(&last->l_next, __ATOMIC_ACQUIRE) != nullptr;
}

// Runs under the loader's lock (dl_iterate_phdr holds it), so that the list stands still.
int find_tail(dl_phdr_info*, std::size_t, void* result) {
  const link_map* last = _r_debug.r_map;
  while (last->l_next != nullptr) last = last->l_next;
  *static_cast<const link_map**>(result) = last;
  return 1;
}

void remember_tail() {
  const link_map* last = nullptr;
  dl_iterate_phdr(find_tail, &last);
  dlopen(last->l_name, RTLD_LAZY | RTLD_NOLOAD);
  tail.store(last, std::memory_order_release);
}

bool resolve(void* library, CudaDriver& driver) {
  bool complete = true;
  const auto find = [&](const char* name) {
    void* symbol = dlsym(library, name);
    complete = complete && symbol != nullptr;
    return symbol;
  };
#define TEMPI_DRIVER(name, parameters) driver.name = reinterpret_cast<CUresult(*) parameters>(find(#name));
#include "device/cuda_driver.def"
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
  remember_tail();  // before the look-up: a library loaded in between is seen the next time
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
