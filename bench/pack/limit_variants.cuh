// The kernels to try for each shape: words of 1 to 16 bytes, 1 to 8 of them a thread.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "pack/limit_kernels.cuh"

namespace tempi::bench {

using RegularKernel = void (*)(Target);
using IndexedKernel = void (*)(char*, char*, const std::uint32_t*, std::int64_t, std::uint32_t);

template <class Kernel>
struct Variant {
  int word_bytes, unroll;
  Kernel gather, scatter;
};
template <class Kernel>
using Variants = std::vector<Variant<Kernel>>;

// The largest word that divides all of them, at most 16 bytes.
constexpr int word_of(std::int64_t a, std::int64_t b = 0, std::int64_t c = 0) {
  int word = 16;
  while (a % word != 0 || b % word != 0 || c % word != 0) word /= 2;
  return word;
}

template <int Bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using type = std::uint8_t;
};
template <>
struct WordOf<2> {
  using type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using type = std::uint32_t;
};
template <>
struct WordOf<8> {
  using type = std::uint64_t;
};
template <>
struct WordOf<16> {
  using type = uint4;
};

template <int Word, int Block, int Stride, int Rows>
void add_regular(Variants<RegularKernel>& out) {
  using W = typename WordOf<Word>::type;
  out.push_back(
      {Word, 1, copy_regular<W, Block, Stride, Rows, 1, true>, copy_regular<W, Block, Stride, Rows, 1, false>});
  out.push_back(
      {Word, 2, copy_regular<W, Block, Stride, Rows, 2, true>, copy_regular<W, Block, Stride, Rows, 2, false>});
  out.push_back(
      {Word, 4, copy_regular<W, Block, Stride, Rows, 4, true>, copy_regular<W, Block, Stride, Rows, 4, false>});
  out.push_back(
      {Word, 8, copy_regular<W, Block, Stride, Rows, 8, true>, copy_regular<W, Block, Stride, Rows, 8, false>});
}

template <int Word, int Block>
void add_indexed(Variants<IndexedKernel>& out) {
  using W = typename WordOf<Word>::type;
  out.push_back({Word, 1, copy_indexed<W, Block, 1, true>, copy_indexed<W, Block, 1, false>});
  out.push_back({Word, 2, copy_indexed<W, Block, 2, true>, copy_indexed<W, Block, 2, false>});
  out.push_back({Word, 4, copy_indexed<W, Block, 4, true>, copy_indexed<W, Block, 4, false>});
  out.push_back({Word, 8, copy_indexed<W, Block, 8, true>, copy_indexed<W, Block, 8, false>});
}

// 16-byte words are not always best, and not possible where a base is aligned to 8 only.
template <int Block, int Stride, int Rows>
Variants<RegularKernel> regular_variants() {
  constexpr int word = word_of(Block, Stride);
  Variants<RegularKernel> out;
  add_regular<word, Block, Stride, Rows>(out);
  if constexpr (word == 16) add_regular<8, Block, Stride, Rows>(out);
  return out;
}

template <int Block>
Variants<IndexedKernel> indexed_variants() {
  constexpr int word = word_of(Block);
  Variants<IndexedKernel> out;
  add_indexed<word, Block>(out);
  if constexpr (word == 16) add_indexed<8, Block>(out);
  return out;
}

using ShapeKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
inline const std::map<ShapeKey, Variants<RegularKernel>>& regular_shapes() {
  static const std::map<ShapeKey, Variants<RegularKernel>> shapes{
#define SHAPE(block, stride, rows) {{block, stride, rows}, regular_variants<block, stride, rows>()},
#include "pack/limit_shapes.def"
#undef SHAPE
  };
  return shapes;
}

inline const std::map<std::int64_t, Variants<IndexedKernel>>& indexed_shapes() {
  static const std::map<std::int64_t, Variants<IndexedKernel>> shapes{
      {4, indexed_variants<4>()},     {8, indexed_variants<8>()},      {16, indexed_variants<16>()},
      {32, indexed_variants<32>()},   {64, indexed_variants<64>()},    {128, indexed_variants<128>()},
      {512, indexed_variants<512>()}, {4096, indexed_variants<4096>()}};
  return shapes;
}

}  // namespace tempi::bench
