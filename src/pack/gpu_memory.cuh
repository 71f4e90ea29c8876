// Memory as the kernels on a GPU access it.
#pragma once

#include "pack/kernel_body.hpp"

namespace tempi::pack {

struct GpuMemory {
  template <class T>
  __device__ __forceinline__ T* at(T* address) const {
    return address;
  }

  // A list may lie in host memory, where a load takes a microsecond. Therefore, the threads load the words of a box at
  // the same time.
  __device__ __forceinline__ const KernelBox& fetch(const KernelBox* box, std::uint32_t thread) const {
    constexpr std::uint32_t kWords = sizeof(KernelBox) / sizeof(std::uint64_t);
    static_assert(sizeof(KernelBox) % sizeof(std::uint64_t) == 0 && kWords <= kLeastThreads);
    __shared__ std::uint64_t words[kWords];
    if (thread < kWords) words[thread] = reinterpret_cast<const std::uint64_t*>(box)[thread];
    __syncthreads();
    return *reinterpret_cast<const KernelBox*>(words);
  }

  // Complete after the thread has waited for its copies.
  __device__ __forceinline__ void copy_chunk(char* image, const char* from) const {
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(image));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  }
  __device__ __forceinline__ void wait_for_copies() const { asm volatile("cp.async.wait_all;" ::: "memory"); }

  // The line of the L2 cache at this address.
  __device__ __forceinline__ void prefetch(const char* address) const {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address) : "memory");
  }

  template <class Unit>
  __device__ __forceinline__ void store(char* to, const Unit& unit) const {
    *reinterpret_cast<Unit*>(to) = unit;
  }
};

}  // namespace tempi::pack
