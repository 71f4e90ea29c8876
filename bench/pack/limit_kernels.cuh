// The fastest plain kernels for a shape known at compile time, as a person would write them for one datatype.
#pragma once

#include <cstdint>

namespace tempi::bench {

constexpr int kMaxFields = 8;

// The addresses of a call: every field has the same shape at its own address.
struct Target {
  char* fields[kMaxFields];
  char* packed;
  std::uint32_t words_per_field;
  std::int64_t plane_stride;
};

template <int Block, int Stride, int Rows, int WordBytes>
__device__ std::int64_t strided_offset(std::uint32_t word, std::int64_t plane_stride) {
  constexpr std::uint32_t words_per_block = Block / WordBytes;
  const std::uint32_t block = word / words_per_block, within = word % words_per_block;
  const std::int64_t in_block = static_cast<std::int64_t>(within) * WordBytes;
  if constexpr (Rows == 0) return static_cast<std::int64_t>(block) * Stride + in_block;
  else return block / Rows * plane_stride + static_cast<std::int64_t>(block % Rows) * Stride + in_block;
}

// One tile is blockDim.x * Unroll words; all loads of a tile are under way before its first store.
template <class Word, int Unroll, bool Gather, class Strided>
__device__ void copy_tiles(Word* packed, std::uint32_t words, Strided strided) {
  const std::uint32_t tile = blockDim.x * Unroll;
  for (std::uint32_t first = blockIdx.x * tile + threadIdx.x; first < words; first += gridDim.x * tile) {
    Word value[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
      if (const std::uint32_t i = first + u * blockDim.x; i < words) value[u] = Gather ? *strided(i) : packed[i];
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
      if (const std::uint32_t i = first + u * blockDim.x; i < words) *(Gather ? packed + i : strided(i)) = value[u];
  }
}

template <class Word, int Block, int Stride, int Rows, int Unroll, bool Gather>
__global__ void copy_regular(const __grid_constant__ Target target) {
  constexpr int word = sizeof(Word);
  char* const field = target.fields[blockIdx.y];
  char* const packed = target.packed + std::int64_t{blockIdx.y} * target.words_per_field * word;
  copy_tiles<Word, Unroll, Gather>(reinterpret_cast<Word*>(packed), target.words_per_field, [&](std::uint32_t i) {
    return reinterpret_cast<Word*>(field + strided_offset<Block, Stride, Rows, word>(i, target.plane_stride));
  });
}

// Equal blocks anywhere: `offsets` counts elements of `unit` bytes.
template <class Word, int Block, int Unroll, bool Gather>
__global__ void copy_indexed(char* base, char* packed, const std::uint32_t* offsets, std::int64_t unit,
                             std::uint32_t words) {
  constexpr std::uint32_t words_per_block = Block / sizeof(Word);
  copy_tiles<Word, Unroll, Gather>(reinterpret_cast<Word*>(packed), words, [&](std::uint32_t i) {
    return reinterpret_cast<Word*>(base + offsets[i / words_per_block] * unit) + i % words_per_block;
  });
}

// Blocks of any length, cut into pieces beforehand; all numbers in words.
struct Piece {
  std::uint32_t strided, packed, words;
};

template <class Word, int Lanes, bool Gather>
__global__ void copy_pieces(Word* base, Word* packed, const Piece* pieces, std::uint32_t n_pieces) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, lane = thread % Lanes;
  for (std::uint32_t p = thread / Lanes; p < n_pieces; p += gridDim.x * blockDim.x / Lanes) {
    const Piece piece = pieces[p];
#pragma unroll 4
    for (std::uint32_t i = lane; i < piece.words; i += Lanes) {
      if (Gather) packed[piece.packed + i] = base[piece.strided + i];
      else base[piece.strided + i] = packed[piece.packed + i];
    }
  }
}

__global__ void do_nothing() {}

}  // namespace tempi::bench
