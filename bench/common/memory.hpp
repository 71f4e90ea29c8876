// Host and GPU buffers for programs built without a CUDA toolkit: the driver is loaded by name, only when asked for.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace tempi::bench {

// The primary context of a device, the one that CUDA runtime programs and MPI libraries use.
class Gpu {
 public:
  explicit Gpu(int ordinal = 0) : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) {
    if (!library_) throw std::runtime_error("no CUDA driver: libcuda.so.1 cannot be loaded");
    int device = 0;
    void* context = nullptr;
    check(find<int(unsigned)>("cuInit")(0), "cuInit");
    check(find<int(int*, int)>("cuDeviceGet")(&device, ordinal), "cuDeviceGet");
    check(find<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device), "cuDevicePrimaryCtxRetain");
    check(find<int(void*)>("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
    synchronise_ = find<int()>("cuCtxSynchronize");
    copy_ = find<int(std::uint64_t, std::uint64_t, std::size_t)>("cuMemcpy");
    query_ = find<int(unsigned, int*, void**, std::uint64_t)>("cuPointerGetAttributes");
  }

  void* allocate(const std::string& kind, std::size_t bytes) {
    std::uint64_t address = 0;
    void* host = nullptr;
    if (kind == "device") {
      check(find<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2")(&address, bytes), "cuMemAlloc");
    } else if (kind == "managed") {
      constexpr unsigned attach_global = 1;
      check(find<int(std::uint64_t*, std::size_t, unsigned)>("cuMemAllocManaged")(&address, bytes, attach_global),
            "cuMemAllocManaged");
    } else {
      constexpr unsigned portable_and_mapped = 3;
      check(find<int(void**, std::size_t, unsigned)>("cuMemHostAlloc")(&host, bytes, portable_and_mapped),
            "cuMemHostAlloc");
      return host;
    }
    return reinterpret_cast<void*>(address);
  }

  void copy(void* dst, const void* src, std::size_t bytes) const {
    check(copy_(reinterpret_cast<std::uint64_t>(dst), reinterpret_cast<std::uint64_t>(src), bytes), "cuMemcpy");
  }
  void synchronise() const { check(synchronise_(), "cuCtxSynchronize"); }

  // Queries the driver about an address; the time matters here, not the answer.
  void query_pointer(const void* address) const {
    int attribute = 2, kind = 0;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
    void* answer = &kind;
    check(query_(1, &attribute, &answer, reinterpret_cast<std::uint64_t>(address)), "cuPointerGetAttributes");
  }

 private:
  friend class EmptyKernel;
  friend class GpuStream;

  template <class Function>
  Function* find(const char* name) const {
    void* symbol = dlsym(library_, name);
    if (!symbol) throw std::runtime_error(std::string("the CUDA driver has no ") + name);
    return reinterpret_cast<Function*>(symbol);
  }
  static void check(int status, const char* what) {
    if (status != 0) throw std::runtime_error(std::string(what) + " failed with " + std::to_string(status));
  }

  void* library_;
  int (*synchronise_)() = nullptr;
  int (*copy_)(std::uint64_t, std::uint64_t, std::size_t) = nullptr;
  int (*query_)(unsigned, int*, void**, std::uint64_t) = nullptr;
};

// A kernel that does nothing, on a stream of its own: no GPU work takes less than its launch and the wait for it.
class EmptyKernel {
 public:
  explicit EmptyKernel(const Gpu& gpu) : gpu_(gpu) {
    constexpr const char* ptx = ".version 6.4\n.target sm_70\n.address_size 64\n.visible .entry empty() { ret; }\n";
    constexpr unsigned non_blocking = 1;
    void* module = nullptr;
    gpu.check(gpu.find<int(void**, const void*)>("cuModuleLoadData")(&module, ptx), "cuModuleLoadData");
    gpu.check(gpu.find<int(void**, void*, const char*)>("cuModuleGetFunction")(&kernel_, module, "empty"),
              "cuModuleGetFunction");
    gpu.check(gpu.find<int(void**, unsigned)>("cuStreamCreate")(&stream_, non_blocking), "cuStreamCreate");
    launch_ = gpu.find<Launch>("cuLaunchKernel");
    synchronise_ = gpu.find<int(void*)>("cuStreamSynchronize");
  }

  void launch_and_synchronise() const {
    gpu_.check(launch_(kernel_, 1, 1, 1, 128, 1, 1, 0, stream_, nullptr, nullptr), "cuLaunchKernel");
    gpu_.check(synchronise_(stream_), "cuStreamSynchronize");
  }

 private:
  using Launch = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                     void**);
  const Gpu& gpu_;
  void *kernel_ = nullptr, *stream_ = nullptr;
  Launch* launch_ = nullptr;
  int (*synchronise_)(void*) = nullptr;
};

// A non-blocking stream. Lives as long as the program.
class GpuStream {
 public:
  explicit GpuStream(const Gpu& gpu) : gpu_(gpu), synchronise_(gpu.find<int(void*)>("cuStreamSynchronize")) {
    constexpr unsigned non_blocking = 1;
    gpu.check(gpu.find<int(void**, unsigned)>("cuStreamCreate")(&stream_, non_blocking), "cuStreamCreate");
  }
  void* handle() const { return stream_; }
  void synchronise() const { gpu_.check(synchronise_(stream_), "cuStreamSynchronize"); }

 private:
  const Gpu& gpu_;
  void* stream_ = nullptr;
  int (*synchronise_)(void*);
};

// Memory of one kind, behind the same four calls. Lives as long as the program: nothing is freed.
class Memory {
 public:
  explicit Memory(std::string kind, int device = 0)
      : kind_(std::move(kind)), gpu_(kind_ == "host" ? nullptr : new Gpu(device)) {}

  const Gpu* gpu() const { return gpu_; }

  char* allocate(std::int64_t bytes) {
    constexpr std::size_t page = 4096;
    if (gpu_) return static_cast<char*>(gpu_->allocate(kind_, static_cast<std::size_t>(bytes)));
    void* host = std::aligned_alloc(page, (static_cast<std::size_t>(bytes) / page + 1) * page);
    if (!host) throw std::runtime_error("out of host memory");
    return static_cast<char*>(host);
  }
  void copy(void* dst, const void* src, std::int64_t bytes) const {
    if (gpu_) gpu_->copy(dst, src, static_cast<std::size_t>(bytes));
    else std::memcpy(dst, src, static_cast<std::size_t>(bytes));
  }
  void fence() const {
    if (gpu_) gpu_->synchronise();
  }

 private:
  std::string kind_;
  Gpu* gpu_;
};

}  // namespace tempi::bench
