#include "host/stream.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "host/blocks.hpp"
#include "host/copy.hpp"

namespace tempi::host {
namespace {

using datatype::Side;

// Addresses of a row's blocks.
struct Strided {
  const char* row;
  std::int64_t stride;
  const char* operator[](std::int64_t i) const { return row + i * stride; }
};
struct Listed {
  const char* row;
  const std::int64_t* offsets;
  const char* operator[](std::int64_t i) const { return row + offsets[i]; }
};

bool begins_line(const char* address) { return reinterpret_cast<std::uintptr_t>(address) % kLine == 0; }

// Dense rows of short blocks: lines are assembled in the first-level cache.
template <int kBytes>
struct ShortBlocks {
  template <class Blocks>
  static void gather(char* to, Blocks blocks, const Rows& rows) {
    constexpr int whole = std::lcm(kBytes, int{kLine}), bytes = whole * std::max(1, 256 / whole),
                  n_blocks = bytes / kBytes;
    const Exactly<kBytes> block(kBytes);
    const std::int64_t n = rows.inner.count;
    std::int64_t i = 0;
    for (; i < n && !begins_line(to + i * kBytes); ++i) block.move(to + i * kBytes, blocks[i]);
    for (; i + n_blocks <= n; i += n_blocks) {
      alignas(kLine) char lines[bytes];
      for (int k = 0; k < n_blocks; ++k) block.move(lines + k * kBytes, blocks[i + k]);
      for (int at = 0; at < bytes; at += kLine) stream_line(to + i * kBytes + at, lines + at);
    }
    for (; i < n; ++i) block.move(to + i * kBytes, blocks[i]);
  }
};

// Dense rows of blocks that are whole lines. The processor's own prefetchers run on into the gaps and miss the next
// block.
struct WholeLines {
  template <class Blocks>
  static void gather(char* to, Blocks blocks, const Rows& rows) {
    constexpr std::int64_t kAheadBytes = 2048;
    const std::int64_t n = rows.inner.count, bytes = rows.block_bytes, ahead = kAheadBytes / bytes;
    for (std::int64_t i = 0; i < n; ++i, to += bytes) {
      const char *from = blocks[i], *next = blocks[std::min(i + ahead, n - 1)];
      for (std::int64_t at = 0; at < bytes; at += kLine) {
        __builtin_prefetch(next + at, 0, 0);
        stream_line(to + at, from + at);
      }
    }
  }
};

template <class Way>
void gather_rows(const char* src, char* dst, const Rows& rows) {
  for (std::int64_t row = 0; row < rows.outer.count; ++row) {
    const char* from = src + row * rows.outer.src_stride;
    char* to = dst + row * rows.outer.dst_stride;
    if (rows.table) Way::gather(to, Listed{from, rows.table->offsets.data()}, rows);
    else Way::gather(to, Strided{from, rows.inner.src_stride}, rows);
  }
}

// True if all blocks are whole cache lines of the destination; depends on the addresses.
bool writes_whole_lines(const char* dst, const Rows& rows) {
  const std::int64_t strides = rows.inner.dst_stride | (rows.outer.count > 1 ? rows.outer.dst_stride : 0);
  return begins_line(dst) && (strides | rows.block_bytes) % kLine == 0;
}

void gather_lines(const char* src, char* dst, const Rows& rows) {
  if (!writes_whole_lines(dst, rows)) return choose_cached(rows)(src, dst, rows);
  gather_rows<WholeLines>(src, dst, rows);
}

void scatter_lines(const char* src, char* dst, const Rows& rows) {
  if (!writes_whole_lines(dst, rows)) return choose_cached(rows)(src, dst, rows);
  for (std::int64_t row = 0; row < rows.outer.count; ++row) {
    const char* from = src + row * rows.outer.src_stride;
    char* to = dst + row * rows.outer.dst_stride;
    for (std::int64_t i = 0; i < rows.inner.count; ++i) {
      stream_copy(to + i * rows.inner.dst_stride, from + i * rows.inner.src_stride, rows.block_bytes);
    }
  }
}

RowsFn choose_gather(const Rows& rows) {
  constexpr std::int64_t kFarStride = 512;  // from here on reading takes all the time
  if (!rows.table && std::abs(rows.inner.src_stride) > kFarStride) return nullptr;
  const std::int64_t block_bytes = rows.block_bytes;
  constexpr std::int64_t kMostPrefetched = 256;
  switch (block_bytes) {
    case 8: return gather_rows<ShortBlocks<8>>;
    case 16: return gather_rows<ShortBlocks<16>>;
    case 24: return gather_rows<ShortBlocks<24>>;
    case 32: return gather_rows<ShortBlocks<32>>;
  }
  return block_bytes % kLine == 0 && block_bytes <= kMostPrefetched ? gather_lines : nullptr;
}

}  // namespace

RowsFn choose_streaming(const Rows& rows) {
  const bool table_on_dst = rows.table && rows.table_side == Side::dst;
  if (rows.inner.dst_stride == rows.block_bytes && !table_on_dst) return choose_gather(rows);
  return !rows.table && rows.block_bytes % kLine == 0 ? scatter_lines : nullptr;
}

}  // namespace tempi::host
