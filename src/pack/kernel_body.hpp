// The code of one thread of the kernels that move words. window_body.hpp and reduction_body.hpp have the code of the
// other kernels. nvcc compiles this code for the GPU; on the fake device, the CPU runs it.
//
// The parameter Memory translates an address of the program to an address that the code may use. On the GPU it is the
// same address. On the fake device, a shift leads to its second mapping. Memory also fetches data that all threads of a
// tile need.
#pragma once

#include "pack/kernel_params.hpp"

#ifdef __CUDACC__
#define TEMPI_DEVICE __device__ __forceinline__
#define TEMPI_UNROLL _Pragma("unroll")
#define TEMPI_UNROLL_4 _Pragma("unroll 4")
#else
#define TEMPI_DEVICE inline
#define TEMPI_UNROLL
#define TEMPI_UNROLL_4
#endif

namespace tempi::pack {

struct alignas(16) Word16 {
  std::uint64_t low, high;
};

struct Tile {
  std::uint32_t index;  // within its box
  std::uint32_t thread;
  std::uint32_t threads;  // of the tile
};

TEMPI_DEVICE std::uint32_t quotient(std::uint32_t n, std::uint32_t magic, std::uint32_t shift) {
#ifdef __CUDA_ARCH__
  return __umulhi(n, magic) >> shift;
#else
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(n) * magic) >> 32) >> shift;
#endif
}

template <class Memory>
TEMPI_DEVICE std::int64_t table_offset(const KernelBox& box, std::uint32_t index, const Memory& memory) {
  const char* table = memory.at(static_cast<const char*>(box.table));
  const std::int64_t entry = box.table_is_narrow ? reinterpret_cast<const std::int32_t*>(table)[index]
                                                 : reinterpret_cast<const std::int64_t*>(table)[index];
  return entry * box.table_unit;
}

// For a word of a box with aligned rows. `step_back` is the distance in bytes from the word's place
// in the loop back to its place in the row. An idle word gets the first place of the row, and is
// not stored.
struct InRow {
  std::uint32_t step_back;
  bool is_idle;
};
template <class Word>
TEMPI_DEVICE InRow in_row(const KernelBox& box, std::uint32_t word, const char* to) {
  const std::uint32_t rows = box.n_dims == 1 ? 0 : quotient(word, box.dims[0].magic, box.shifts[0]);
  const std::uint32_t in_loop = (word - rows * box.dims[0].count) * static_cast<std::uint32_t>(sizeof(Word));
  const std::uint32_t in_line =
      (static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to)) - in_loop) % kLineBytes;
  // The difference wraps around, so that it is also too large for a word before the row.
  const bool is_idle = in_loop - in_line >= box.row_words * static_cast<std::uint32_t>(sizeof(Word));
  return {is_idle ? in_loop : in_line, is_idle};
}

template <class Word, Depth kDepth, bool kMayBeAligned, class Memory>
TEMPI_DEVICE void move_words(const KernelBox& box, const char* src, char* dst, Tile tile, const Memory& memory) {
  constexpr std::uint32_t kWords = kWordsPerThread<kDepth, sizeof(Word)>;
  const std::uint32_t step = tile.threads;
  const std::uint32_t first = tile.index * (step * kWords) + tile.thread;
  std::uint32_t rest[kWords];
  std::int64_t from[kWords], to[kWords];
  TEMPI_UNROLL
  for (std::uint32_t k = 0; k < kWords; ++k) {
    const std::uint32_t word = first + k * step;
    rest[k] = word < box.n_words ? word : box.n_words - 1;  // idle threads read the last word once more
    from[k] = box.src_offset;
    to[k] = box.dst_offset;
  }
  for (int d = 0; d < box.n_dims; ++d) {
    const bool outermost = d + 1 == box.n_dims;
    const bool irregular = box.table_side != TableSide::none && d == box.table_dim;
    const std::int64_t src_stride = box.dims[d].src_stride, dst_stride = box.dims[d].dst_stride;
    TEMPI_UNROLL
    for (std::uint32_t k = 0; k < kWords; ++k) {
      const std::uint32_t outer = outermost ? 0 : quotient(rest[k], box.dims[d].magic, box.shifts[d]);
      const std::uint32_t index = rest[k] - outer * box.dims[d].count;
      rest[k] = outer;
      from[k] += index * src_stride;
      to[k] += index * dst_stride;
      if (irregular) (box.table_side == TableSide::src ? from[k] : to[k]) += table_offset(box, index, memory);
    }
  }
  static_assert(kWords <= 32);
  std::uint32_t idle = 0;  // bits, by word
  if (kMayBeAligned && box.row_words != 0) {
    TEMPI_UNROLL
    for (std::uint32_t k = 0; k < kWords; ++k) {
      const std::uint32_t word = first + k * step;
      const InRow place = in_row<Word>(box, word < box.n_words ? word : box.n_words - 1, dst + to[k]);
      from[k] -= place.step_back;
      to[k] -= place.step_back;
      idle |= std::uint32_t{place.is_idle} << k;
    }
  }
  Word words[kWords];
  TEMPI_UNROLL
  for (std::uint32_t k = 0; k < kWords; ++k) {
    words[k] = *reinterpret_cast<const Word*>(memory.at(src + from[k]));
  }
  TEMPI_UNROLL
  for (std::uint32_t k = 0; k < kWords; ++k) {
    if (first + k * step < box.n_words && (idle >> k & 1) == 0)
      *reinterpret_cast<Word*>(memory.at(dst + to[k])) = words[k];
  }
}

template <std::uint32_t kWordBytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = std::uint8_t;
};
template <>
struct WordOf<2> {
  using Type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using Type = std::uint32_t;
};
template <>
struct WordOf<8> {
  using Type = std::uint64_t;
};
template <>
struct WordOf<16> {
  using Type = Word16;
};

template <Depth kDepth, std::uint32_t kWordBytes, bool kMayBeAligned, class Memory>
TEMPI_DEVICE void move_tile(const KernelBox& box, const char* src, char* dst, Tile tile, const Memory& memory) {
  if constexpr (kWordBytes != kMixedWords) {
    move_words<typename WordOf<kWordBytes>::Type, kDepth, kMayBeAligned>(box, src, dst, tile, memory);
  } else {
    switch (box.word_bytes) {
      case 16: return move_words<Word16, kDepth, kMayBeAligned>(box, src, dst, tile, memory);
      case 8: return move_words<std::uint64_t, kDepth, kMayBeAligned>(box, src, dst, tile, memory);
      case 4: return move_words<std::uint32_t, kDepth, false>(box, src, dst, tile, memory);
      case 2: return move_words<std::uint16_t, kDepth, false>(box, src, dst, tile, memory);
      default: return move_words<std::uint8_t, kDepth, false>(box, src, dst, tile, memory);
    }
  }
}

template <Depth kDepth, std::uint32_t kWordBytes, class Memory>
TEMPI_DEVICE void run(const OneBox& list, Tile tile, const Memory& memory) {
  move_tile<kDepth, kWordBytes, false>(list.box, list.src, list.dst, tile, memory);
}

template <Depth kDepth, std::uint32_t kWordBytes, class Memory>
TEMPI_DEVICE void run(const FewBoxes& list, Tile tile, const Memory& memory) {
  std::uint32_t low = 0, high = list.n_boxes;  // the box is the last one that begins at or before the tile
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    if (list.first_tile[middle] <= tile.index) {
      low = middle;
    } else {
      high = middle;
    }
  }
  move_tile<kDepth, kWordBytes, false>(list.boxes[low], list.src, list.dst,
                                       {tile.index - list.first_tile[low], tile.thread, tile.threads}, memory);
}

template <Depth kDepth, std::uint32_t kWordBytes, bool kMayBeAligned, class Memory>
TEMPI_DEVICE void run_list(const ManyBoxes& list, Tile tile, const Memory& memory) {
  const std::uint32_t element = tile.index / list.tiles_per_element;
  const std::uint32_t in_element = tile.index - element * list.tiles_per_element;
  const TileOfList here = memory.at(list.tiles)[in_element];
  move_tile<kDepth, kWordBytes, kMayBeAligned>(
      memory.fetch(list.boxes + here.box, tile.thread), list.src + element * list.src_extent,
      list.dst + element * list.dst_extent, {here.index, tile.thread, tile.threads}, memory);
}

template <Depth kDepth, std::uint32_t kWordBytes, class Memory>
TEMPI_DEVICE void run(const ManyBoxes& list, Tile tile, const Memory& memory) {
  run_list<kDepth, kWordBytes, false>(list, tile, memory);
}

template <Depth kDepth, std::uint32_t kWordBytes, class Memory>
TEMPI_DEVICE void run(const AlignedBoxes& list, Tile tile, const Memory& memory) {
  run_list<kDepth, kWordBytes, true>(list, tile, memory);
}

}  // namespace tempi::pack
