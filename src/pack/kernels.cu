// The only __global__ code.
#include "pack/kernel_body.hpp"

namespace tempi::pack {

struct GpuMemory {
  template <class T>
  __device__ __forceinline__ T* at(T* address) const {
    return address;
  }
};

// Wide words have one or two loads in flight a thread and want all the threads that fit; narrow ones want registers.
constexpr int tiles_per_multiprocessor(std::uint32_t word_bytes) { return word_bytes >= 8 ? 16 : 8; }
template <std::uint32_t kWordBytes>
inline constexpr int kTilesPerMultiprocessor = tiles_per_multiprocessor(kWordBytes);

#define TEMPI_KERNEL(Params, depth, word)                                               \
  extern "C" __global__ void __launch_bounds__(kThreads, kTilesPerMultiprocessor<word>) \
      tempi_##Params##_##depth##_##word(const __grid_constant__ Params list) {          \
    run<Depth::depth, word>(list, Tile{blockIdx.x, threadIdx.x}, GpuMemory{});          \
  }
#include "pack/kernels.def"
#undef TEMPI_KERNEL

}  // namespace tempi::pack
