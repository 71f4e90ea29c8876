// Host and GPU buffers for programs built without a CUDA toolkit: the driver is loaded by name, only when asked for.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace tempi::bench {

// The primary context of device 0, the one that CUDA runtime programs and MPI libraries use.
class Gpu {
 public:
  Gpu() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) {
    if (!library_) throw std::runtime_error("no CUDA driver: libcuda.so.1 cannot be loaded");
    int device = 0;
    void* context = nullptr;
    check(find<int(unsigned)>("cuInit")(0), "cuInit");
    check(find<int(int*, int)>("cuDeviceGet")(&device, 0), "cuDeviceGet");
    check(find<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device), "cuDevicePrimaryCtxRetain");
    check(find<int(void*)>("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
    synchronise_ = find<int()>("cuCtxSynchronize");
    copy_ = find<int(std::uint64_t, std::uint64_t, std::size_t)>("cuMemcpy");
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

 private:
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
};

// Memory of one kind, behind the same four calls. Lives as long as the program: nothing is freed.
class Memory {
 public:
  explicit Memory(std::string kind) : kind_(std::move(kind)), gpu_(kind_ == "host" ? nullptr : new Gpu) {}

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
