// The kernel of enqueued exchanges (pack/exchange.hpp). Kernels of two GPUs run at the same time and signal each other.
#pragma once

#include "pack/exchange_params.hpp"
#include "pack/gpu_memory.cuh"

namespace tempi::pack {

enum class SendState : std::uint8_t { waits, is_ready, is_over };

// After this load, the bytes that the other GPU wrote before it raised the signal are visible.
__device__ __forceinline__ std::uint64_t acquire(const std::uint64_t* signal) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(signal) : "memory");
  return value;
}

// A store without a fence, because a fence takes a microsecond. The accesses that the signal
// announces must be ordered before the store for the system: by a fence for the system, or because
// an earlier kernel made them and has ended.
__device__ __forceinline__ void store(std::uint64_t* signal, std::uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(signal), "l"(value) : "memory");
}

// Memory of the host is a microsecond away: the kernel looks there, and at the clock, rarely.
__device__ __forceinline__ bool is_rare_look(std::uint32_t n_looks) {
  constexpr std::uint32_t kLooksBetween = 1024;
  return n_looks % kLooksBetween == kLooksBetween - 1;
}

enum class Look : std::uint8_t { waits, is_signalled, is_lost };

// The loads do not wait for each other: each one takes half a microsecond.
__device__ __forceinline__ Look look_at(const ExchangeEnd& end, std::uint32_t n_looks) {
  volatile EndWords* const own = end.own;
  const std::uint64_t is_broken = own->is_broken, count = own->count, signal = acquire(&end.own->signal);
  if (is_broken != 0) return Look::is_lost;
  if (signal > count) return Look::is_signalled;
  if (!is_rare_look(n_looks) || *static_cast<volatile std::uint32_t*>(end.loss) == 0) return Look::waits;
  own->is_broken = 1;
  return Look::is_lost;
}

// ---- timed ends. kIsTimed: the kernel may have some. break_end, may_write and withdraw are not inlined, because
// the code of ends that are not timed needs the registers.

__device__ __forceinline__ std::uint64_t now_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ __noinline__ void break_end(const ExchangeEnd& end) {
  *static_cast<volatile std::uint64_t*>(&end.own->is_broken) = 1;
  auto* const loss = static_cast<volatile std::uint32_t*>(end.loss);
  if (*loss == 0) *loss = static_cast<std::uint32_t>(Loss::timed_out);
}

// The decision on the exchange. `sender`: the words of the send.
__device__ std::uint64_t decide(const ExchangeEnd& end, EndWords* sender, std::uint64_t wanted) {
  const std::uint64_t count = end.own->count;
  std::uint64_t found;
  asm volatile("atom.relaxed.sys.global.cas.b64 %0, [%1], %2, %3;"
               : "=l"(found)
               : "l"(&sender->decided), "l"(count), "l"(wanted)
               : "memory");
  return found == count ? wanted : found;
}

__device__ __noinline__ bool may_write(const ExchangeEnd& end) {
  const std::uint64_t own = end.own->count + 1;
  if (decide(end, end.own, own) == own) return true;
  break_end(end);
  return false;
}

// False: the sender has begun to write the bytes of this exchange.
__device__ __noinline__ bool withdraw(const ExchangeEnd& end, bool is_send) {
  EndWords* const sender = is_send ? end.own : reinterpret_cast<EndWords*>(end.other_signal);
  if (decide(end, sender, kWithdrawn) != kWithdrawn) return false;
  break_end(end);
  if (is_send) store(end.other_signal, kWithdrawn);
  return true;
}

template <bool kIsTimed>
__device__ __forceinline__ bool is_late(const ExchangeEnd& end, std::uint32_t n_looks, std::uint64_t deadline) {
  return kIsTimed && end.is_timed != 0 && is_rare_look(n_looks) && now_ns() >= deadline;
}

template <bool kIsTimed>
__device__ __forceinline__ SendState state_of_ready(const ExchangeEnd& end) {
  return !kIsTimed || end.is_timed == 0 || may_write(end) ? SendState::is_ready : SendState::is_over;
}

// This block has written `n_own` tiles of the send. The last block tells the receiver. Its fence
// orders the bytes of all blocks before the signal.
__device__ __forceinline__ void note_written(const ExchangeEnd& end, std::uint32_t n_own) {
  const std::uint64_t count = end.own->count;  // loaded during the fence
  if (n_own != end.n_tiles) {
    __threadfence();
    if (atomicAdd(&end.own->n_tiles_done, n_own) + n_own != end.n_tiles) return;
    end.own->n_tiles_done = 0;
  }
  __threadfence_system();
  store(end.other_signal, count + 1);
}

// Starts to load an entry of a table into the L1 cache. The thread does not wait. No kernel changes the table.
template <class T>
__device__ __forceinline__ void load_into_l1(const T& entry) {
  for (std::uint32_t at = 0; at < sizeof(T); at += kLineBytes / 2) {
    std::uint64_t word;
    asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(word) : "l"(reinterpret_cast<const char*>(&entry) + at));
  }
}

// Writes the block's tiles of each send as soon as its receiver is ready. While some receivers are
// not ready, the block checks them again after a few tiles. In this way, moves within this GPU and
// moves over links run at the same time. There is no barrier between the tiles: the warps of a
// block go on by themselves.
template <Depth kDepth, std::uint32_t kWordBytes, bool kIsTimed>
__device__ __forceinline__ void send_all(const Exchange& of, std::uint64_t deadline) {
  struct OwnTile {
    TileOfList at;
    std::uint32_t send;
  };
  constexpr int kTilesBetweenLooks = 2;
  __shared__ OwnTile tiles[kMostTilesOfBlock];
  __shared__ SendState states[kMostEnds];
  __shared__ std::uint32_t n_own[kMostEnds], n_left[kMostEnds];  // tiles of this block, by send
  for (std::uint32_t i = threadIdx.x; i < of.n_sends; i += blockDim.x) {
    load_into_l1(of.ends[i]);
    n_own[i] = 0;
  }
  __syncthreads();
  const std::uint32_t n_tiles = blockIdx.x < of.n_tiles ? (of.n_tiles - blockIdx.x - 1) / gridDim.x + 1 : 0;
  for (std::uint32_t k = threadIdx.x; k < n_tiles; k += blockDim.x) {
    const std::uint32_t index = blockIdx.x + k * gridDim.x;
    const TileOfList at = of.tiles[index];
    const std::uint32_t send = of.send_of[index];
    tiles[k] = {at, send};
    atomicAdd(&n_own[send], 1);
    if (k == 0) load_into_l1(of.boxes[at.box]);
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < of.n_sends; i += blockDim.x) {
    const bool tells_of_none = of.ends[i].n_tiles == 0 && blockIdx.x == 0;
    states[i] = n_own[i] != 0 || tells_of_none ? SendState::waits : SendState::is_over;
    n_left[i] = n_own[i];
  }
  static_assert(kMostTilesOfBlock == 32);
  std::uint32_t left = n_tiles == kMostTilesOfBlock ? ~0u : (1u << n_tiles) - 1;
  __syncthreads();
  for (std::uint32_t n_looks = 0;; ++n_looks) {
    int waits = 0;
    for (std::uint32_t i = threadIdx.x; i < of.n_sends; i += blockDim.x) {
      if (states[i] != SendState::waits) continue;
      const Look look = look_at(of.ends[i], n_looks);
      if (look == Look::is_lost) states[i] = SendState::is_over;
      else if (look == Look::is_signalled) states[i] = state_of_ready<kIsTimed>(of.ends[i]);
      else if (is_late<kIsTimed>(of.ends[i], n_looks, deadline) && withdraw(of.ends[i], true))
        states[i] = SendState::is_over;
      else waits = 1;
    }
    waits = __syncthreads_or(waits);
    int n_moved = 0;
    for (std::uint32_t rest = left; rest != 0 && !(waits != 0 && n_moved == kTilesBetweenLooks); rest &= rest - 1) {
      const OwnTile& tile = tiles[__ffs(static_cast<int>(rest)) - 1];
      const SendState state = states[tile.send];
      if (state == SendState::waits) continue;
      left &= ~(rest & -rest);
      if (state != SendState::is_ready) continue;
      move_tile<kDepth, kWordBytes, true>(of.boxes[tile.at.box], nullptr, nullptr,
                                          {tile.at.index, threadIdx.x, of.n_threads}, GpuMemory{});
      if (threadIdx.x == 0) --n_left[tile.send];
      ++n_moved;
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < of.n_sends; i += blockDim.x) {
      if (states[i] != SendState::is_ready || n_left[i] != 0) continue;
      note_written(of.ends[i], n_own[i]);
      states[i] = SendState::is_over;
    }
    if (waits == 0 && left == 0) return;
    __syncthreads();
  }
}

template <bool kIsTimed>
__device__ __forceinline__ void await_receives(const Exchange& of, std::uint64_t deadline) {
  for (std::uint32_t i = of.n_sends + threadIdx.x; i < of.n_ends; i += blockDim.x) {
    const ExchangeEnd& end = of.ends[i];
    for (std::uint32_t n_looks = 0; look_at(end, n_looks) == Look::waits; ++n_looks) {
      if (is_late<kIsTimed>(end, n_looks, deadline) && withdraw(end, false)) break;
    }
    if (kIsTimed && end.is_timed != 0 && acquire(&end.own->signal) == kWithdrawn) break_end(end);
  }
}

// True in the last block: all other ones have written their tiles, and the receives have arrived, unless an end is
// lost.
__device__ __forceinline__ bool is_last_block(const Exchange& of) {
  __shared__ bool is_last;
  __syncthreads();
  if (gridDim.x == 1) return true;
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicInc(of.n_blocks_done, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

// By the last block: all other ones have read the counts.
__device__ __forceinline__ void end_exchange(const Exchange& of) {
  for (std::uint32_t i = threadIdx.x; i < of.n_ends; i += blockDim.x) ++of.ends[i].own->count;
  if (threadIdx.x == 0) ++*of.n_ended;
}

// True in the last block, which then calls end_exchange().
template <Depth kDepth, std::uint32_t kWordBytes, bool kIsTimed>
__device__ __forceinline__ bool exchange(const Exchange& of) {
  if (blockIdx.x == 0) {
    for (std::uint32_t i = of.n_sends + threadIdx.x; i < of.n_ends; i += blockDim.x)
      store(of.ends[i].other_signal, of.ends[i].own->count + 1);
  }
  const std::uint64_t deadline = kIsTimed && of.timeout_ns != 0 ? now_ns() + of.timeout_ns : ~std::uint64_t{0};
  send_all<kDepth, kWordBytes, kIsTimed>(of, deadline);
  if (blockIdx.x == 0) await_receives<kIsTimed>(of, deadline);
  return is_last_block(of);
}

// An exchange of any boxes. The kernels of all scalars share this function. It has a copy of the parameters, because a
// call cannot pass parameters of a kernel that are in constant memory.
__device__ __noinline__ bool exchange_before_reduction(const Exchange of) {
  return exchange<Depth::x1, kMixedWords, true>(of);
}

}  // namespace tempi::pack
