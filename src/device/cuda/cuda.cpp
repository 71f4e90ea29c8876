#include "device/cuda/cuda.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <pthread.h>
#include <utility>
#include <vector>

#include "device/cuda/check.hpp"
#include "device/cuda/ipc.hpp"
#include "device/cuda/mark.hpp"
#include "device/cuda/order.hpp"
#include "device/cuda/replay.hpp"
#include "device/own_memory.hpp"

extern "C" const unsigned char tempi_kernel_image[];  // the fat binary of src/pack/kernels.cu

namespace tempi::device {
namespace {

const CudaDriver* driver = nullptr;  // set before the first CudaDevice method runs
std::atomic<bool> forked{false};     // CUDA does not survive fork

void check(CUresult result, const char* call) { device::check(*driver, result, call); }

CUdeviceptr as_device(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

// A thread's stream and kernels in one context.
struct Queue {
  Context context;
  Lane lane;
  CUstream stream = nullptr;
  CUmodule module = nullptr;
  std::vector<std::pair<const Kernel*, CUfunction>> functions = {};
  Replays replays = {};
  Told last = {};  // what was queued last tells its end
};

struct ThreadQueues {
  std::vector<Queue> queues;
  ~ThreadQueues() {
    if (forked.load()) return;
    for (Queue& queue : queues) {  // fails harmlessly after the driver has shut down
      queue.replays.destroy(*driver);
      driver->cuStreamDestroy_v2(queue.stream);
    }
  }
};

thread_local ThreadQueues thread_queues;

// The state that leaving a scope restores; scopes nest a few levels deep (memory given back during other work).
struct Entered {
  Context context;
  Lane lane;
  CUstreamCaptureMode outer_mode;
};
thread_local std::vector<Entered> entered;

std::mutex mutex;  // guards the two maps

CUmodule module_of(Context context) {
  static auto& modules = *new std::map<Context, CUmodule>;
  const std::lock_guard lock(mutex);
  CUmodule& module = modules[context];
  if (module == nullptr) check(driver->cuModuleLoadData(&module, tempi_kernel_image), "cuModuleLoadData");
  return module;
}

// Memory without a context of its own (cudaMallocAsync, virtual memory management) belongs to its device.
Context primary_context(int ordinal) {
  static auto& contexts = *new std::map<int, CUcontext>;
  const std::lock_guard lock(mutex);
  CUcontext& context = contexts[ordinal];
  if (context == nullptr) driver->cuDevicePrimaryCtxRetain(&context, ordinal);
  return context;
}

Queue& queue() {
  const auto& [context, lane, mode] = entered.back();
  for (Queue& known : thread_queues.queues) {
    if (known.context == context && known.lane == lane) return known;
  }
  Queue fresh{context, lane, nullptr, module_of(context)};
  check(driver->cuStreamCreate(&fresh.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return thread_queues.queues.emplace_back(std::move(fresh));
}

CUfunction function(Queue& queue, const Kernel& kernel) {
  for (const auto& [known, function] : queue.functions) {
    if (known == &kernel) return function;
  }
  CUfunction function = nullptr;
  check(driver->cuModuleGetFunction(&function, queue.module, kernel.symbol), "cuModuleGetFunction");
  queue.functions.emplace_back(&kernel, function);
  return function;
}

MemoryKind kind_of(unsigned memory_type, bool managed) {
  if (managed) return MemoryKind::managed;
  return memory_type == CU_MEMORYTYPE_DEVICE ? MemoryKind::device : MemoryKind::pinned;
}

class CudaDevice final : public Device {
 public:
  std::string name() const override { return "cuda"; }

  Location locate(const void* address) noexcept override {
    if (is_heap_or_stack(address)) return {};
    // One query for all: the singular cuPointerGetAttribute takes ten times longer to refuse a host address.
    unsigned memory_type = 0, managed = 0;
    int ordinal = -1;
    CUcontext context = nullptr;
    CUdeviceptr begin = 0;
    std::size_t bytes = 0;
    unsigned long long buffer_id = 0;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_CONTEXT,
                                    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                    CU_POINTER_ATTRIBUTE_BUFFER_ID};
    void* values[] = {&memory_type, &managed, &ordinal, &context, &begin, &bytes, &buffer_id};
    if (driver->cuPointerGetAttributes(std::size(wanted), wanted, values, as_device(address)) != CUDA_SUCCESS)
      return {};
    if (memory_type == 0) return {};
    const bool is_of_pool = context == nullptr;
    if (is_of_pool) context = static_cast<CUcontext>(primary_context(ordinal));
    const Location found{kind_of(memory_type, managed != 0), ordinal, context, begin, begin + bytes, buffer_id};
    if (found.on_gpu()) order_after_program(*driver, {as_device(address), buffer_id, context, is_of_pool});
    return found;
  }

  bool is_still(const Location& known, const void* address) noexcept override {
    return is_ordered(known.id) ? has_id(address, known.id) : locate(address) == known;
  }

  bool exists(const Location& known) noexcept override {
    return has_id(reinterpret_cast<const void*>(known.begin), known.id);
  }

  Facts facts() noexcept override {
    int count = 0, version = 0;
    char gpu[256] = {};
    if (driver->cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) return {};
    driver->cuDriverGetVersion(&version);
    driver->cuDeviceGetName(gpu, sizeof gpu, 0);
    return {gpu, count, "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10)};
  }

  Context primary(int ordinal) override {
    check(driver->cuInit(0), "cuInit");
    return primary_context(ordinal);
  }

  bool reaches(int ordinal, int other) noexcept override { return gpu_reaches(*driver, ordinal, other); }

  std::optional<SharedAllocation> share(const Location& location) noexcept override {
    return ipc_share(*driver, *this, location);
  }

  void unpin(void* pages) noexcept override { driver->cuMemHostUnregister(pages); }

 private:
  bool has_id(const void* address, std::uint64_t id) noexcept {
    CUpointer_attribute wanted = CU_POINTER_ATTRIBUTE_BUFFER_ID;
    unsigned long long buffer_id = 0;
    void* value = &buffer_id;
    return driver->cuPointerGetAttributes(1, &wanted, &value, as_device(address)) == CUDA_SUCCESS && buffer_id == id;
  }

  void enter(Context context, Lane lane) override {
    check(driver->cuCtxPushCurrent_v2(static_cast<CUcontext>(context)), "cuCtxPushCurrent");
    entered.push_back({context, lane, CU_STREAM_CAPTURE_MODE_RELAXED});
    driver->cuThreadExchangeStreamCaptureMode(&entered.back().outer_mode);
  }

  void leave(Context) noexcept override {
    CUcontext popped = nullptr;
    driver->cuThreadExchangeStreamCaptureMode(&entered.back().outer_mode);
    driver->cuCtxPopCurrent_v2(&popped);
    entered.pop_back();
  }

  void launch(const Kernel& kernel, Grid grid, const void* params) override {
    Queue& here = queue();
    const KernelCall call{function(here, kernel), grid, params, kernel.param_bytes, kernel.tells_its_end};
    here.last = {};
    here.last = here.replays.launch(*driver, call, here.stream);
  }

  void copy(void* dst, const void* src, std::size_t bytes) override {
    Queue& here = queue();
    here.last = {};
    check(driver->cuMemcpyAsync(as_device(dst), as_device(src), bytes, here.stream), "cuMemcpyAsync");
  }

  MarkPtr mark() override { return cuda_mark(*driver, queue().stream); }

  MarkPtr mark_for_cpu() override {
    const Queue& here = queue();
    return here.last ? mark_of(here.last) : cuda_mark(*driver, here.stream);
  }

  void wait_for(const Mark& mark) override {
    Queue& here = queue();
    here.last = {};
    make_wait(here.stream, mark);
  }

  void finish() override {
    const Queue& here = queue();
    if (here.last) here.last.wait();
    else check(driver->cuStreamSynchronize(here.stream), "cuStreamSynchronize");
  }

  void* allocate(std::size_t bytes) override {
    CUdeviceptr address = 0;
    check(driver->cuMemAlloc_v2(&address, bytes), "cuMemAlloc");
    return reinterpret_cast<void*>(address);
  }

  void deallocate(void* address) noexcept override { driver->cuMemFree_v2(as_device(address)); }

  void pin(void* pages, std::size_t bytes) override {
    constexpr unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
    check(driver->cuMemHostRegister_v2(pages, bytes, flags), "cuMemHostRegister");
  }

  std::uintptr_t map(const SharedAllocation& allocation) override { return ipc_open(*driver, allocation); }

  void unmap(std::uintptr_t address) noexcept override { driver->cuIpcCloseMemHandle(address); }
};

CudaDevice* make_device(const CudaDriver* loaded) {
  driver = loaded;
  pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
  return new CudaDevice;  // never destroyed: threads may use it while the process exits
}

}  // namespace

Device* cuda_device() noexcept {
  const CudaDriver* loaded = cuda_driver();
  if (loaded == nullptr || forked.load(std::memory_order_relaxed)) return nullptr;
  static CudaDevice* const device = make_device(loaded);
  return device;
}

}  // namespace tempi::device
