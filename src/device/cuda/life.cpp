#include "device/cuda/life.hpp"

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "device/cuda/current.hpp"

namespace tempi::device {
namespace {

constinit std::atomic<Life*> newest{nullptr};
constinit Mutex<Lock::contexts> mutex;  // of whoever adds to the list

unsigned long long id_of(const CudaDriver& driver, CUdeviceptr address, CUresult& result) noexcept {
  CUpointer_attribute wanted = CU_POINTER_ATTRIBUTE_BUFFER_ID;
  unsigned long long id = 0;
  void* value = &id;
  result = driver.cuPointerGetAttributes(1, &wanted, &value, address);
  return result == CUDA_SUCCESS ? id : 0;
}

void take_witness(const CudaDriver& driver, Life& life) noexcept {
  const RelaxedCapture relaxed(driver);
  const Pushed here(driver, life.handle);
  CUresult result{};
  if (!here || driver.cuMemAlloc_v2(&life.witness, 1) != CUDA_SUCCESS) return;
  life.witness_id = id_of(driver, life.witness, result);
}

bool goes_on(const CudaDriver& driver, Life* life) noexcept {
  return life != nullptr && life->witness_id != 0 && lives(driver, *life);
}

}  // namespace

bool has_id(const CudaDriver& driver, CUdeviceptr address, unsigned long long id) noexcept {
  CUresult result{};
  return id_of(driver, address, result) == id && result == CUDA_SUCCESS;
}

// A driver that fails to answer, as when the process exits, is left alone, too; it may answer later.
bool lives(const CudaDriver& driver, Life& life) noexcept {
  if (life.has_ended.load(std::memory_order_relaxed)) return false;
  if (life.witness_id == 0) return true;
  CUresult result{};
  if (id_of(driver, life.witness, result) == life.witness_id) return true;
  if (result == CUDA_SUCCESS) life.has_ended.store(true, std::memory_order_relaxed);
  return false;
}

bool has_failed(const CudaDriver& driver, Life& life) noexcept {
  const auto is_failure = [](CUresult result) {
    return result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY && result != CUDA_ERROR_DEINITIALIZED &&
           result != CUDA_ERROR_OUT_OF_MEMORY;
  };
  if (life.has_ended.load(std::memory_order_relaxed) || life.witness_id == 0) return false;
  CUresult result{};
  if (id_of(driver, life.witness, result) != life.witness_id) return is_failure(result);
  const RelaxedCapture relaxed(driver);
  const std::lock_guard lock(life.mutex);
  if (life.probe == nullptr) {
    const Pushed here(driver, life.handle);
    result = here ? driver.cuEventCreate(&life.probe, CU_EVENT_DISABLE_TIMING) : CUDA_ERROR_INVALID_CONTEXT;
    return here && is_failure(result);
  }
  return is_failure(driver.cuEventQuery(life.probe));
}

void check_life(const CudaDriver& driver, Life& life) {
  if (!lives(driver, life)) throw Error(ErrorKind::device, "the program has ended the CUDA context");
}

Life* known_life(CUcontext handle) noexcept {
  Life* life = newest.load(std::memory_order_acquire);
  while (life != nullptr && life->handle != handle) life = life->older;
  return life;
}

Life& life_of(const CudaDriver& driver, CUcontext handle) noexcept {
  if (Life* const known = known_life(handle); goes_on(driver, known)) return *known;
  const std::lock_guard lock(mutex);
  if (Life* const known = known_life(handle); goes_on(driver, known)) return *known;
  auto* const life = new Life(handle, newest.load());
  take_witness(driver, *life);
  newest.store(life, std::memory_order_release);
  return *life;
}

}  // namespace tempi::device
