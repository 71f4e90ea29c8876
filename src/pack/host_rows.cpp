#include "pack/host_rows.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "pack/host_copy.hpp"

namespace tempi::pack {
namespace {

using datatype::Side;

// How a block of a known size is moved. Words are loaded before they are stored and may be unaligned.
template <int kBytes>
struct Exactly {
  explicit Exactly(std::int64_t) {}
  static constexpr std::int64_t bytes() { return kBytes; }
  void move(char* dst, const char* src) const { std::memcpy(dst, src, kBytes); }
};

// From kPart to 2 * kPart bytes: a head and a tail that overlap.
template <int kPart>
struct Overlapping {
  explicit Overlapping(std::int64_t bytes) : bytes_(bytes) {}
  std::int64_t bytes() const { return bytes_; }
  void move(char* dst, const char* src) const {
    char head[kPart], tail[kPart];
    std::memcpy(head, src, kPart);
    std::memcpy(tail, src + bytes_ - kPart, kPart);
    std::memcpy(dst, head, kPart);
    std::memcpy(dst + bytes_ - kPart, tail, kPart);
  }

 private:
  std::int64_t bytes_;
};

// From 64 bytes to where a call of memcpy costs little beside the copy.
struct Pieces {
  explicit Pieces(std::int64_t bytes) : bytes_(bytes) {}
  std::int64_t bytes() const { return bytes_; }
  void move(char* dst, const char* src) const {
    const Exactly<64> piece(64);
    for (std::int64_t at = 0; at < bytes_ - 64; at += 64) piece.move(dst + at, src + at);
    piece.move(dst + bytes_ - 64, src + bytes_ - 64);
  }

 private:
  std::int64_t bytes_;
};

template <auto kCopy>
struct Long {
  explicit Long(std::int64_t bytes) : bytes_(bytes) {}
  std::int64_t bytes() const { return bytes_; }
  void move(char* dst, const char* src) const { kCopy(dst, src, bytes_); }

 private:
  std::int64_t bytes_;
};

// What the compiler knows of a side's stride: dense rows allow wider words, and half-dense ones shuffles.
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

template <class Block, Side kSide>
void table_rows(const char* __restrict src, char* __restrict dst, const Rows& rows) {
  const Block block(rows.block_bytes);
  const std::int64_t* __restrict offsets = rows.table->offsets.data();
  const std::int64_t n = rows.inner.count;
  for (std::int64_t row = 0; row < rows.outer.count; ++row) {
    const char* __restrict from = src + row * rows.outer.src_stride;
    char* __restrict to = dst + row * rows.outer.dst_stride;
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (kSide == Side::src)
        block.move(to + i * rows.inner.dst_stride, from + offsets[i]);
      else
        block.move(to + offsets[i], from + i * rows.inner.src_stride);
    }
  }
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
    if (column.inner.count > 1)
      choose_rows(column)(from, to, column);
    else
      copy_block(to, from, column.block_bytes);
  }
}

// Source and destination disagree about which dim is the inner one (a transposition): in tiles, so that the lines of
// both sides are used up while they are in the cache.
bool is_crossed(const Rows& rows) {
  constexpr std::int64_t kFar = 256;
  const auto far = [](std::int64_t inner, std::int64_t outer) {
    return std::abs(inner) >= kFar && std::abs(outer) < 64;
  };
  return far(rows.inner.src_stride, rows.outer.src_stride) || far(rows.inner.dst_stride, rows.outer.dst_stride);
}

void tile_rows(const char* src, char* dst, const Rows& rows) {
  constexpr std::int64_t kSide = 8;
  const RowsFn run = choose_block(rows);
  Rows tile = rows;
  for (std::int64_t row = 0; row < rows.outer.count; row += kSide) {
    tile.outer.count = std::min(kSide, rows.outer.count - row);
    for (std::int64_t i = 0; i < rows.inner.count; i += kSide) {
      tile.inner.count = std::min(kSide, rows.inner.count - i);
      run(src + row * rows.outer.src_stride + i * rows.inner.src_stride,
          dst + row * rows.outer.dst_stride + i * rows.inner.dst_stride, tile);
    }
  }
}

template <class Block>
RowsFn choose_loop(const Rows& rows) {
  if (rows.table) return rows.table_side == Side::src ? table_rows<Block, Side::src> : table_rows<Block, Side::dst>;
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

// Fetching the lines of a strided destination before they are overwritten costs more than writing them.
bool streams(const Rows& rows) {
  constexpr std::int64_t kMostlyWholeLines = 256;
  return rows.streaming && rows.block_bytes >= kMostlyWholeLines && rows.inner.dst_stride != rows.block_bytes;
}

RowsFn choose_long(const Rows& rows) {
  if (streams(rows)) return choose_loop<Long<stream_copy>>(rows);
  if (rows.block_bytes < 128) return choose_loop<Pieces>(rows);
  const bool middle = rows.block_bytes >= kLeastStringCopy && rows.block_bytes < kMostStringCopy;
  return middle ? choose_loop<Long<string_copy>>(rows) : choose_loop<Long<library_copy>>(rows);
}

RowsFn choose_block(const Rows& rows) {
  switch (rows.block_bytes) {
    case 1:
      return choose_loop<Exactly<1>>(rows);
    case 2:
      return choose_loop<Exactly<2>>(rows);
    case 4:
      return choose_loop<Exactly<4>>(rows);
    case 8:
      return choose_loop<Exactly<8>>(rows);
    case 12:
      return choose_loop<Exactly<12>>(rows);
    case 16:
      return choose_loop<Exactly<16>>(rows);
    case 24:
      return choose_loop<Exactly<24>>(rows);
    case 32:
      return choose_loop<Exactly<32>>(rows);
    case 64:
      return choose_loop<Exactly<64>>(rows);
  }
  if (rows.block_bytes < 4) return choose_loop<Overlapping<2>>(rows);
  if (rows.block_bytes < 8) return choose_loop<Overlapping<4>>(rows);
  if (rows.block_bytes < 16) return choose_loop<Overlapping<8>>(rows);
  if (rows.block_bytes < 32) return choose_loop<Overlapping<16>>(rows);
  if (rows.block_bytes < 64) return choose_loop<Overlapping<32>>(rows);
  return choose_long(rows);
}

}  // namespace

bool has_runs(const Rows& rows) {
  const std::int64_t dense_stride = rows.table_side == Side::src ? rows.inner.dst_stride : rows.inner.src_stride;
  return rows.table && !rows.table->runs.empty() && dense_stride == rows.block_bytes;
}

RowsFn choose_rows(const Rows& rows) {
  if (has_runs(rows)) return run_rows;
  return !rows.table && is_crossed(rows) ? tile_rows : choose_block(rows);
}

void copy_block(char* dst, const char* src, std::int64_t bytes) {
  if (bytes < 16 || bytes > 64) return void(std::memcpy(dst, src, static_cast<std::size_t>(bytes)));
  bytes <= 32 ? Overlapping<16>(bytes).move(dst, src) : Overlapping<32>(bytes).move(dst, src);
}

}  // namespace tempi::pack
