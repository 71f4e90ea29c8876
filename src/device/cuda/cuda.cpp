#include "device/cuda/cuda.hpp"

#include <array>
#include <atomic>
#include <pthread.h>

#include "device/cuda/check.hpp"
#include "device/cuda/ipc.hpp"
#include "device/cuda/mark.hpp"
#include "device/cuda/order.hpp"
#include "device/cuda/primary.hpp"
#include "device/cuda/queue.hpp"
#include "device/own_memory.hpp"
#include "device/stream_order.hpp"

namespace tempi::device {
namespace {

const CudaDriver* driver = nullptr;  // set before the first CudaDevice method runs
std::atomic<bool> forked{false};     // CUDA does not survive fork

void check(CUresult result, const char* call) { device::check(*driver, result, call); }

CUdeviceptr as_device(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

Life& life_in(Context context) { return *static_cast<Life*>(context); }

// The state that leaving a scope restores; scopes nest a few levels deep (memory given back during other work).
struct Entered {
  Life* life;
  Lane lane;
  CUstream program;  // null: the thread's own queue of the lane
  CUstreamCaptureMode outer_mode;
};

// Innermost last. Without a destructor: a thread may enter a context after its other objects are gone.
struct AllEntered {
  std::array<Entered, 16> scopes{};
  std::size_t depth = 0;

  Entered& innermost() { return scopes.at(depth - 1); }
};
constinit thread_local AllEntered entered;

Queue& queue() {
  const Entered& here = entered.innermost();
  return own_queue(*driver, *here.life, here.lane);
}

MemoryKind kind_of(unsigned memory_type, bool managed) {
  if (managed) return MemoryKind::managed;
  return memory_type == CU_MEMORYTYPE_DEVICE ? MemoryKind::device : MemoryKind::pinned;
}

class CudaDevice final : public Device {
 public:
  std::string name() const override { return "cuda"; }

  bool exists(const Location& known) noexcept override { return has_id(*driver, known.begin, known.id); }

  bool has_ended(Context context) noexcept override { return !lives(*driver, life_in(context)); }

  bool has_failed(Context context) noexcept override { return device::has_failed(*driver, life_in(context)); }

  std::shared_ptr<const void> prepare_in_place(Context context, std::size_t marks) override {
    Life& life = life_in(context);
    const Scope here(*this, context);
    prepare_queues(*driver, life);
    static_cast<void>(device::has_failed(*driver, life));  // makes its event
    return reserve_events(*driver, life, marks);
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
    Life* const life = primary_life(*driver, ordinal);
    if (life == nullptr) throw Error(ErrorKind::device, "a GPU has no primary context");
    return life;
  }

  Context program_context() noexcept override {
    CUcontext current = nullptr;
    const bool is_known = driver->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != nullptr;
    return is_known ? &life_of(*driver, current) : nullptr;
  }

  void release_contexts() noexcept override { release_primaries(*driver); }

  bool reaches(int ordinal, int other) noexcept override { return gpu_reaches(*driver, ordinal, other); }

  bool has_atomics(const Location& own, const SharedAllocation& other) noexcept override {
    return gpu_has_atomics(*driver, own.ordinal, other);
  }

  ProgramStream program_stream(StreamHandle handle) override {
    const auto stream = static_cast<CUstream>(handle);
    if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return {handle, nullptr};
    CUcontext context = nullptr;
    if (driver->cuStreamGetCtx(stream, &context) != CUDA_SUCCESS)
      throw Error(ErrorKind::stream, "CUDA does not know this stream");
    return {handle, &life_of(*driver, context)};
  }

  std::optional<SharedAllocation> share(const Location& location) noexcept override {
    return ipc_share(*driver, *this, location);
  }

 private:
  Location find(const void* address) noexcept override {
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
    Life* const life = is_of_pool ? primary_life(*driver, ordinal) : life_at(context, buffer_id);
    const Location found{kind_of(memory_type, managed != 0), ordinal, life, begin, begin + bytes, buffer_id};
    if (!found.on_gpu()) note_ordered(buffer_id);
    else if (life != nullptr) order_after_program(*driver, {as_device(address), buffer_id, *life, is_of_pool});
    return found;
  }

  bool is_found_again(const Location& known, const void* address) noexcept override {
    return is_ordered(known.id) ? has_id(*driver, as_device(address), known.id) : find(address) == known;
  }

  // An allocation that was seen before lies in the last known life of its context.
  static Life* life_at(CUcontext context, unsigned long long buffer_id) noexcept {
    return is_ordered(buffer_id) ? known_life(context) : &life_of(*driver, context);
  }

  void enter(Context context, Lane lane) override { enter(context, lane, nullptr); }

  void enter_stream(Context context, StreamHandle stream) override {
    const auto its = static_cast<CUstream>(stream);
    enter(context, Lane::first, its == nullptr ? CU_STREAM_LEGACY : its);
  }

  static void enter(Context context, Lane lane, CUstream program) {
    if (context == nullptr) throw Error(ErrorKind::device, "memory without a CUDA context");
    if (entered.depth == entered.scopes.size()) throw Error(ErrorKind::internal, "contexts are entered too deep");
    Life& life = life_in(context);
    check_life(*driver, life);
    check(driver->cuCtxPushCurrent_v2(life.handle), "cuCtxPushCurrent");
    entered.scopes[entered.depth++] = {&life, lane, program, CU_STREAM_CAPTURE_MODE_RELAXED};
    driver->cuThreadExchangeStreamCaptureMode(&entered.innermost().outer_mode);
  }

  void leave(Context) noexcept override {
    CUcontext popped = nullptr;
    driver->cuThreadExchangeStreamCaptureMode(&entered.innermost().outer_mode);
    driver->cuCtxPopCurrent_v2(&popped);
    --entered.depth;
  }

  void launch(const Kernel& kernel, Grid grid, const void* params) override {
    Queue& here = queue();
    const KernelCall call{here.life,           function(*driver, here, kernel), grid, params, kernel.param_bytes,
                          kernel.tells_its_end};
    if (CUstream program = entered.innermost().program) return launch_once(*driver, call, program);
    here.last = {};
    if (InPlaceOfStream::lives()) return launch_once(*driver, call, here.stream);  // a graph would have to be made
    here.last = here.replays.launch(*driver, call, here.stream);
  }

  // The stream that work goes to; from now on no flag tells the end of the work in the thread's own queue.
  static CUstream stream_for_work() {
    if (CUstream program = entered.innermost().program) return program;
    Queue& here = queue();
    here.last = {};
    return here.stream;
  }

  void copy(void* dst, const void* src, std::size_t bytes) override {
    check(driver->cuMemcpyAsync(as_device(dst), as_device(src), bytes, stream_for_work()), "cuMemcpyAsync");
  }

  void write_word(std::uint64_t* word, std::uint64_t value) override {
    check(driver->cuStreamWriteValue64_v2(stream_for_work(), as_device(word), value, CU_STREAM_WRITE_VALUE_DEFAULT),
          "cuStreamWriteValue64");
  }

  MarkPtr mark() override {
    CUstream program = entered.innermost().program;
    return program != nullptr ? cuda_mark(*driver, *entered.innermost().life, program) : mark_in(queue());
  }

  MarkPtr mark_for_cpu() override {
    if (entered.innermost().program != nullptr) return mark();
    const Queue& here = queue();
    return here.last ? mark_of(here.last) : mark_in(here);
  }

  static MarkPtr mark_in(const Queue& queue) { return cuda_mark(*driver, queue.life, queue.stream); }

  void wait_for(const Mark& mark) override { make_wait(stream_for_work(), mark); }

  bool is_capturing() override {
    CUstreamCaptureStatus status{};
    CUstream program = entered.innermost().program;
    return program != nullptr &&
           (driver->cuStreamIsCapturing(program, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE);
  }

  void keep_with_graph(std::shared_ptr<const void> object) override {
    using Kept = std::shared_ptr<const void>;
    CUstreamCaptureStatus status{};
    CUgraph graph = nullptr;
    check(driver->cuStreamGetCaptureInfo_v2(entered.innermost().program, &status, nullptr, &graph, nullptr, nullptr),
          "cuStreamGetCaptureInfo");
    auto kept = std::make_unique<Kept>(std::move(object));
    CUuserObject owner = nullptr;
    const CUhostFn end = [](void* one) { delete static_cast<Kept*>(one); };
    check(driver->cuUserObjectCreate(&owner, kept.get(), end, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
          "cuUserObjectCreate");
    kept.release();  // the object's
    check(driver->cuGraphRetainUserObject(graph, owner, 1, CU_GRAPH_USER_OBJECT_MOVE), "cuGraphRetainUserObject");
  }

  void finish() override {
    if (CUstream program = entered.innermost().program)
      return check(driver->cuStreamSynchronize(program), "cuStreamSynchronize");
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

  void unpin(void* pages) noexcept override { driver->cuMemHostUnregister(pages); }

  std::uintptr_t map(const SharedAllocation& allocation) override { return ipc_open(*driver, allocation); }

  void unmap(std::uintptr_t address) noexcept override { ipc_close(*driver, address); }
};

CudaDevice* make_device(const CudaDriver* loaded) {
  driver = loaded;
  pthread_atfork(nullptr, nullptr, [] {
    forked.store(true);
    forget_queues();
  });
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
