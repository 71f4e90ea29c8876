// The only __global__ code.
#include "pack/kernel_body.hpp"

namespace tempi::pack {

struct GpuMemory {
  template <class T>
  __device__ __forceinline__ T* at(T* address) const {
    return address;
  }
};

#define TEMPI_KERNEL(symbol, Params, depth)                                                       \
  extern "C" __global__ void __launch_bounds__(kThreads, 4) symbol(const __grid_constant__ Params list) { \
    run<Depth::depth>(list, Tile{blockIdx.x, threadIdx.x}, GpuMemory{});                           \
  }
#include "pack/kernels.def"
#undef TEMPI_KERNEL

}  // namespace tempi::pack
