#include "host/rows.hpp"

#include <algorithm>
#include <cstdlib>

#include "host/blocks.hpp"
#include "host/copy.hpp"
#include "host/stream.hpp"

namespace tempi::host {
namespace {

using datatype::Side;

// Compile-time knowledge of a side's stride: dense rows allow wider words, half-dense ones shuffles.
enum class Stride { any, dense, every_second };

template <Stride kStride, class Block>
std::int64_t stride_bytes(const Block& block, std::int64_t stride) {
  return kStride == Stride::any ? stride : kStride == Stride::dense ? block.bytes() : 2 * block.bytes();
}

template <class Block, Stride kSrc, Stride kDst>
void strided_rows(const char* __restrict src, char* __restrict dst, const Rows& rows) {
  const Block block(rows.block_bytes);
  const std::int64_t src_stride = stride_bytes<kSrc>(block, rows.inner.src_stride);
  const std::int64_t dst_stride = stride_bytes<kDst>(block, rows.inner.dst_stride);
  const std::int64_t n = rows.inner.count;
  for (std::int64_t row = 0; row < rows.outer.count; ++row) {
    const char* __restrict from = src + row * rows.outer.src_stride;
    char* __restrict to = dst + row * rows.outer.dst_stride;
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < n; ++i) block.move(to + i * dst_stride, from + i * src_stride);
  }
}

// kOther: the stride of the side without the table.
template <class Block, Side kSide, Stride kOther>
void table_rows(const char* __restrict src, char* __restrict dst, const Rows& rows) {
  const Block block(rows.block_bytes);
  const std::int64_t* __restrict offsets = rows.table->offsets.data();
  const std::int64_t stride =
      stride_bytes<kOther>(block, kSide == Side::src ? rows.inner.dst_stride : rows.inner.src_stride);
  const std::int64_t n = rows.inner.count;
  for (std::int64_t row = 0; row < rows.outer.count; ++row) {
    const char* __restrict from = src + row * rows.outer.src_stride;
    char* __restrict to = dst + row * rows.outer.dst_stride;
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (kSide == Side::src) block.move(to + i * stride, from + offsets[i]);
      else block.move(to + offsets[i], from + i * stride);
    }
  }
}

// A known stride of the packed side makes gathers faster and, measured, scatters slower.
template <class Block>
RowsFn choose_table_loop(const Rows& rows) {
  if (rows.table_side == Side::dst) return table_rows<Block, Side::dst, Stride::any>;
  return rows.inner.dst_stride == rows.block_bytes ? table_rows<Block, Side::src, Stride::dense>
                                                   : table_rows<Block, Side::src, Stride::any>;
}

RowsFn choose_block(const Rows& rows);

// Tables of small equal chunks whose neighbours mostly join: as runs of chunks, each a column over the outer dim.
void run_rows(const char* src, char* dst, const Rows& rows) {
  Rows column;
  column.inner = rows.outer;
  column.streaming = rows.streaming;
  for (const datatype::Run& run : rows.table->runs) {
    const bool of_src = rows.table_side == Side::src;
    const char* from = src + (of_src ? run.offset : run.first * rows.block_bytes);
    char* to = dst + (of_src ? run.first * rows.block_bytes : run.offset);
    column.block_bytes = run.count * rows.block_bytes;
    if (column.inner.count > 1) choose_rows(column)(from, to, column);
    else copy_block(to, from, column.block_bytes);
  }
}

constexpr std::int64_t kTileSide = 8;

// Source and destination disagree about which dim is the inner one (a transposition): in tiles, so that the lines of
// both sides are used up while they are in the cache.
bool is_crossed(const Rows& rows) {
  const auto crossed = [](std::int64_t inner, std::int64_t outer) {
    return std::abs(inner) >= 256 && std::abs(outer) < 64;
  };
  return rows.outer.count >= kTileSide && rows.inner.count >= kTileSide &&
         (crossed(rows.inner.src_stride, rows.outer.src_stride) ||
          crossed(rows.inner.dst_stride, rows.outer.dst_stride));
}

void tile_rows(const char* src, char* dst, const Rows& rows) {
  const RowsFn run = choose_block(rows);
  Rows tile = rows;
  for (std::int64_t row = 0; row < rows.outer.count; row += kTileSide) {
    tile.outer.count = std::min(kTileSide, rows.outer.count - row);
    for (std::int64_t i = 0; i < rows.inner.count; i += kTileSide) {
      tile.inner.count = std::min(kTileSide, rows.inner.count - i);
      run(src + row * rows.outer.src_stride + i * rows.inner.src_stride,
          dst + row * rows.outer.dst_stride + i * rows.inner.dst_stride, tile);
    }
  }
}

template <class Block>
RowsFn choose_loop(const Rows& rows) {
  if (rows.table) return choose_table_loop<Block>(rows);
  const std::int64_t bytes = rows.block_bytes, src_stride = rows.inner.src_stride, dst_stride = rows.inner.dst_stride;
  if (dst_stride == bytes) {
    if (src_stride == 2 * bytes) return strided_rows<Block, Stride::every_second, Stride::dense>;
    return strided_rows<Block, Stride::any, Stride::dense>;
  }
  if (src_stride == bytes) {
    if (dst_stride == 2 * bytes) return strided_rows<Block, Stride::dense, Stride::every_second>;
    return strided_rows<Block, Stride::dense, Stride::any>;
  }
  return strided_rows<Block, Stride::any, Stride::any>;
}

// Fetching the lines of a strided destination before they are overwritten costs more than writing them; and from a
// source almost without gaps, memory is read as fast as it can be.
bool streams(const Rows& rows) {
  constexpr std::int64_t kMostlyWholeLines = 256, kLong = 1024;
  if (rows.inner.dst_stride != rows.block_bytes) return rows.block_bytes >= kMostlyWholeLines;
  return rows.block_bytes >= kLong && std::abs(rows.inner.src_stride) * 2 < rows.block_bytes * 3;
}

RowsFn choose_long(const Rows& rows) {
  if (rows.streaming && streams(rows)) return choose_loop<Long<stream_copy>>(rows);
  if (rows.block_bytes <= 256) return choose_loop<Pieces>(rows);
  const bool middle = rows.block_bytes >= kLeastStringCopy && rows.block_bytes < kMostStringCopy;
  return rows.streaming && middle ? choose_loop<Long<copy_in_pages<string_copy>>>(rows)
                                  : choose_loop<Long<copy_in_pages<library_copy>>>(rows);
}

RowsFn choose_block(const Rows& rows) {
  switch (rows.block_bytes) {
    case 1: return choose_loop<Exactly<1>>(rows);
    case 2: return choose_loop<Exactly<2>>(rows);
    case 4: return choose_loop<Exactly<4>>(rows);
    case 8: return choose_loop<Exactly<8>>(rows);
    case 12: return choose_loop<Exactly<12>>(rows);
    case 16: return choose_loop<Exactly<16>>(rows);
    case 24: return choose_loop<Exactly<24>>(rows);
    case 32: return choose_loop<Exactly<32>>(rows);
    case 64: return choose_loop<Exactly<64>>(rows);
    case 128: return choose_loop<Exactly<128>>(rows);
  }
  if (rows.block_bytes < 4) return choose_loop<Overlapping<2>>(rows);
  if (rows.block_bytes < 8) return choose_loop<Overlapping<4>>(rows);
  if (rows.block_bytes < 16) return choose_loop<Overlapping<8>>(rows);
  if (rows.block_bytes < 32) return choose_loop<Overlapping<16>>(rows);
  if (rows.block_bytes < 64) return choose_loop<Overlapping<32>>(rows);
  return choose_long(rows);
}

bool has_runs(const Rows& rows) {
  const std::int64_t dense_stride = rows.table_side == Side::src ? rows.inner.dst_stride : rows.inner.src_stride;
  return rows.table && !rows.table->runs.empty() && dense_stride == rows.block_bytes;
}

}  // namespace

RowsFn choose_cached(const Rows& rows) {
  if (has_runs(rows)) return run_rows;
  return !rows.table && is_crossed(rows) ? tile_rows : choose_block(rows);
}

RowsFn choose_rows(const Rows& rows) {
  const RowsFn streaming = rows.streaming && !has_runs(rows) ? choose_streaming(rows) : nullptr;
  return streaming ? streaming : choose_cached(rows);
}

void copy_block(char* dst, const char* src, std::int64_t bytes) {
  if (bytes < 4 || bytes > 64) return copy_in_pages<library_copy>(dst, src, bytes);
  if (bytes < 8) return Overlapping<4>(bytes).move(dst, src);
  if (bytes < 16) return Overlapping<8>(bytes).move(dst, src);
  bytes <= 32 ? Overlapping<16>(bytes).move(dst, src) : Overlapping<32>(bytes).move(dst, src);
}

}  // namespace tempi::host
