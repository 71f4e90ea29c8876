#include "device/cuda/ipc.hpp"

#include <array>
#include <cstring>
#include <exception>
#include <mutex>

#include "base/mutex.hpp"
#include "device/cuda/check.hpp"

namespace tempi::device {
namespace {

// The last answers of the driver, by the allocation's id; a message asks for its allocation each time.
struct Answer {
  std::uint64_t id = 0;
  std::optional<SharedAllocation> shared;
};
constexpr std::size_t kRemembered = 64;
std::array<Answer, kRemembered> answers{};
Mutex<Lock::shared_allocations> mutex;  // guards them

std::optional<SharedAllocation> ask(const CudaDriver& driver, const Location& location) {
  CUipcMemHandle handle{};
  CUuuid gpu{};
  if (driver.cuIpcGetMemHandle(&handle, location.begin) != CUDA_SUCCESS) return {};
  check(driver, driver.cuDeviceGetUuid_v2(&gpu, location.ordinal), "cuDeviceGetUuid");
  SharedAllocation shared{.id = location.id, .begin = location.begin, .bytes = location.end - location.begin};
  static_assert(sizeof shared.handle == sizeof handle && sizeof shared.gpu == sizeof gpu);
  std::memcpy(shared.handle.data(), &handle, sizeof handle);
  std::memcpy(shared.gpu.data(), &gpu, sizeof gpu);
  return shared;
}

CUdeviceptr open(const CudaDriver& driver, const CUipcMemHandle& handle) {
  CUdeviceptr address = 0;
  const CUresult result = driver.cuIpcOpenMemHandle_v2(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (result == CUDA_ERROR_ALREADY_MAPPED)
    throw Error(ErrorKind::mapped, "cuIpcOpenMemHandle failed: freed memory is still mapped at that address");
  check(driver, result, "cuIpcOpenMemHandle");
  return address;
}

// The ordinal here of a GPU, or -1: CUDA_VISIBLE_DEVICES hides it.
int ordinal_of(const CudaDriver& driver, const std::array<std::byte, 16>& gpu) {
  int count = 0;
  check(driver, driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
  for (CUdevice ordinal = 0; ordinal < count; ++ordinal) {
    CUuuid found{};
    check(driver, driver.cuDeviceGetUuid_v2(&found, ordinal), "cuDeviceGetUuid");
    if (std::memcmp(&found, gpu.data(), sizeof found) == 0) return ordinal;
  }
  return -1;
}

}  // namespace

bool gpu_reaches(const CudaDriver& driver, CUdevice gpu, CUdevice other) noexcept {
  int can = 0;
  return gpu == other || (driver.cuDeviceCanAccessPeer(&can, gpu, other) == CUDA_SUCCESS && can != 0);
}

bool gpu_has_atomics(const CudaDriver& driver, CUdevice gpu, const SharedAllocation& other) noexcept try {
  const int owner = ordinal_of(driver, other.gpu);
  int can = 0;
  constexpr auto kWanted = CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
  return owner == gpu ||
         (owner >= 0 && driver.cuDeviceGetP2PAttribute(&can, kWanted, gpu, owner) == CUDA_SUCCESS && can != 0);
} catch (const std::exception&) {
  return false;
}

std::optional<SharedAllocation> ipc_share(const CudaDriver& driver, Device& device, const Location& location) noexcept
    try {
  if (location.kind != MemoryKind::device || location.id == 0) return {};
  const std::lock_guard lock(mutex);
  Answer& answer = answers[location.id % kRemembered];
  if (answer.id != location.id) {
    const Scope here(device, location.context);
    answer = {location.id, ask(driver, location)};
  }
  return answer.shared;
} catch (const std::exception&) {  // the next use of the context meets the error
  return {};
}

std::uintptr_t ipc_open(const CudaDriver& driver, const SharedAllocation& allocation) {
  CUdevice own = 0;
  check(driver, driver.cuCtxGetDevice(&own), "cuCtxGetDevice");
  const int owner = ordinal_of(driver, allocation.gpu);
  if (owner >= 0 && !gpu_reaches(driver, own, owner))
    throw Error(ErrorKind::device,
                "GPU " + std::to_string(own) + " does not reach the memory of GPU " + std::to_string(owner));
  CUipcMemHandle handle{};
  std::memcpy(&handle, allocation.handle.data(), sizeof handle);
  return open(driver, handle);
}

void ipc_close(const CudaDriver& driver, std::uintptr_t address) noexcept { driver.cuIpcCloseMemHandle(address); }

}  // namespace tempi::device
