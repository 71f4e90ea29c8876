// The only __global__ code.
#include "device/done.hpp"
#include "pack/exchange_kernel.cuh"
#include "pack/gpu_memory.cuh"
#include "pack/reduction_body.hpp"
#include "pack/window_body.hpp"

namespace tempi::pack {

// Wide words with few loads in flight want all the threads that fit a multiprocessor; others want registers.
constexpr int tiles_per_multiprocessor(Depth depth, std::uint32_t word_bytes, bool needs_registers) {
  const bool is_wide = !needs_registers && word_bytes >= 8 && words_per_thread(depth, word_bytes) * word_bytes <= 32;
  return (is_wide ? 2048 : 1024) / static_cast<int>(kMostThreads);
}
template <class Params, Depth kDepth, std::uint32_t kWordBytes>
inline constexpr int kTilesPerMultiprocessor =
    tiles_per_multiprocessor(kDepth, kWordBytes, std::is_same_v<Params, AlignedBoxes>);

// The last tile's fence orders the bytes of all tiles, wherever they go, before the flag: it has seen the counts of the
// others, and what they wrote is before those for all of this GPU (fences are cumulative: PTX ISA, "causality order").
// A fence for the whole system takes 1.2 us, one for the GPU next to nothing; counting 0.6 us, which a single tile does
// not do. At the last tile atomicInc makes the count 0 again.
__device__ __forceinline__ void tell(const device::Done& done) {
  if (done.flag == nullptr) return;
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (gridDim.x > 1) {
    __threadfence();
    if (atomicInc(done.n_tiles, gridDim.x - 1) != gridDim.x - 1) return;
  }
  __threadfence_system();
  *static_cast<volatile std::uint32_t*>(done.flag) = 1;
}

#define TEMPI_KERNEL(Params, depth, word)                                                                         \
  extern "C" __global__ void __launch_bounds__(kMostThreads, kTilesPerMultiprocessor<Params, Depth::depth, word>) \
      tempi_##Params##_##depth##_##word(const __grid_constant__ Params list, const device::Done done) {           \
    run<Depth::depth, word>(list, Tile{blockIdx.x, threadIdx.x, blockDim.x}, GpuMemory{});                        \
    tell(done);                                                                                                   \
  }
#define TEMPI_WINDOWED_KERNEL(form, word)                                        \
  extern "C" __global__ void __launch_bounds__(kWindowThreads)                   \
      tempi_windowed_##form##_##word(const __grid_constant__ OneWindowed list) { \
    __shared__ alignas(kChunkBytes) char image[kImageBytes<Form::form>];         \
    const Tile tile{blockIdx.x, threadIdx.x, kWindowThreads};                    \
    const TileWords words = words_of_tile<Form::form, word>(list, tile.index);   \
    fetch<Form::form, word>(list, words, tile, image, GpuMemory{});              \
    GpuMemory{}.wait_for_copies();                                               \
    __syncthreads();                                                             \
    store<Form::form, word>(list, words, tile, image, GpuMemory{});              \
  }
#include "pack/kernels.def"
#undef TEMPI_KERNEL
#undef TEMPI_WINDOWED_KERNEL

// ---- enqueued exchanges

// More threads would need registers that are kept in memory.
constexpr int blocks_of_exchange(std::uint32_t word_bytes) {
  return (word_bytes == kMixedWords ? 1024 : 1536) / static_cast<int>(kMostThreads);
}

#define TEMPI_EXCHANGE_KERNEL(name, depth, word, is_timed)                             \
  extern "C" __global__ void __launch_bounds__(kMostThreads, blocks_of_exchange(word)) \
      tempi_##name##_##depth##_##word(const __grid_constant__ Exchange of) {           \
    if (exchange<Depth::depth, word, is_timed>(of)) end_exchange(of);                  \
  }
#define TEMPI_EXCHANGE(depth, word)                   \
  TEMPI_EXCHANGE_KERNEL(exchange, depth, word, false) \
  TEMPI_EXCHANGE_KERNEL(timed_exchange, depth, word, true)
#include "pack/exchange.def"
#undef TEMPI_EXCHANGE
#undef TEMPI_EXCHANGE_KERNEL

// The last block of an exchange reduces the received data.
#define TEMPI_SCALAR(name, type)                                                                               \
  extern "C" __global__ void __launch_bounds__(kReductionThreads) tempi_reduce_##name(const Reduction of) {    \
    reduce<type>(of, Tile{blockIdx.x, threadIdx.x, kReductionThreads}, GpuMemory{});                           \
  }                                                                                                            \
  extern "C" __global__ void __launch_bounds__(kReductionThreads)                                              \
      tempi_reduce_group_##name(const __grid_constant__ ReducingExchange of, const device::Done done) {        \
    const bool exchanges = of.exchange.n_ends != 0;                                                            \
    if (exchanges && !exchange_before_reduction(of.exchange)) return;                                          \
    reduce<type>(of.reduction, Tile{exchanges ? 0 : blockIdx.x, threadIdx.x, kReductionThreads}, GpuMemory{}); \
    if (exchanges) return end_exchange(of.exchange);                                                           \
    tell(done);                                                                                                \
  }
#include "pack/scalars.def"

}  // namespace tempi::pack
