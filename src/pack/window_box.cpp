#include "pack/window_box.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "pack/tuning.hpp"

namespace tempi::pack {
namespace {

constexpr std::int64_t kChunk = kChunkBytes, kSector = kSectorBytes;
constexpr std::int64_t kMostGap = 64;       // bytes between the blocks of a window
constexpr std::int64_t kLeastWindow = 16;   // bytes of data; shorter ones are what the kernels of words are for
constexpr std::int64_t kLongWindow = 4096;  // by which far dims of several loops cost little
constexpr std::int64_t kLeastRun = 512;
constexpr std::int64_t kManyTiles = 2048;
constexpr std::int64_t kStep = kWindowThreads * kUnitBytes;  // that the threads of a tile store at once
constexpr std::uint32_t kWidestNarrowWord = 2;

// Bytes of a window for each byte of data, up to which its gaps are worth moving.
std::int64_t most_sparse(std::uint32_t word_bytes) { return word_bytes == 1 ? 6 : 3; }

// The number of dims, from the innermost, that follow each other without a gap on the packed side.
int dense_dims(const KernelBox& box) {
  std::int64_t bytes = box.word_bytes;
  int d = 0;
  for (; d < box.n_dims && box.dims[d].dst_stride == bytes; ++d) bytes *= box.dims[d].count;
  return d;
}

std::int64_t words_of(const KernelBox& box, int n_dims) {
  std::int64_t words = 1;
  for (int d = 0; d < n_dims; ++d) words *= box.dims[d].count;
  return words;
}

using Strides = std::array<std::int64_t, kMaxKernelDims>;  // bytes

struct Near {
  int dims;
  std::int64_t bytes;  // from the first to the last data byte
};

Near near_dims(const KernelBox& box, int n_run_dims) {
  Near near{0, box.word_bytes};
  for (; near.dims < n_run_dims; ++near.dims) {
    const std::int64_t stride = box.dims[near.dims].src_stride;
    if (stride < near.bytes || stride > near.bytes + kMostGap) break;
    near.bytes += (box.dims[near.dims].count - 1) * stride;
  }
  return near;
}

// The far dims are pushed together: a chunk lies between two windows at least, and residues are kept.
Strides image_strides(const KernelBox& box, int n_run_dims, const Near& near) {
  Strides strides{};
  std::int64_t least = near.bytes + 2 * (kChunk - 1);
  for (int d = 0; d < n_run_dims; ++d) {
    const std::int64_t stride = box.dims[d].src_stride;
    const std::int64_t up = ((stride - least) % kChunk + kChunk) % kChunk;
    strides[d] = d < near.dims ? stride : least + up;
    if (d >= near.dims) least = strides[d] * box.dims[d].count;
  }
  return strides;
}

// At most so many bytes lie from the first to the last of `words` words in order, whichever is the first: each digit of
// their number counts, and each dim may wrap around once.
std::int64_t span_bound(const KernelBox& box, int n_dims, const Strides& strides, std::int64_t words) {
  std::int64_t span = box.word_bytes, rest = words - 1;
  for (int d = 0; d < n_dims; ++d) {
    const std::int64_t count = box.dims[d].count, outer = d + 1 == n_dims ? 0 : rest / count;
    span += (rest - outer * count) * std::abs(strides[d]);
    if (d > 0) span += std::abs(strides[d] - box.dims[d - 1].count * strides[d - 1]);
    rest = outer;
  }
  return span;
}

std::int64_t lowest_byte(const KernelBox& box) {
  std::int64_t lowest = box.src_offset;
  for (int d = 0; d < box.n_dims; ++d)
    lowest += std::min<std::int64_t>(0, (box.dims[d].count - 1) * box.dims[d].src_stride);
  return lowest;
}

std::int64_t end_byte(const KernelBox& box) {
  std::int64_t end = box.src_offset + box.word_bytes;
  for (int d = 0; d < box.n_dims; ++d)
    end += std::max<std::int64_t>(0, (box.dims[d].count - 1) * box.dims[d].src_stride);
  return end;
}

// Bytes of a tile on the packed side: less in transfers that would not give every multiprocessor several tiles.
std::int64_t wanted_tile_bytes(const KernelBox& box) {
  const std::int64_t bytes = std::int64_t{box.n_words} * box.word_bytes / kManyTiles;
  return std::clamp<std::int64_t>(bytes / kStep * kStep, kStep, kMostTileBytes);
}

// The most words whose image fits; 0 where not even few do.
std::uint32_t tile_words(const KernelBox& box, int n_run_dims, const Strides& strides) {
  std::int64_t bytes = wanted_tile_bytes(box);
  for (; bytes >= kSector; bytes -= bytes > kStep ? kStep : bytes / 2) {
    const std::int64_t words = bytes / box.word_bytes, span = span_bound(box, n_run_dims, strides, words);
    if (span + 2 * kChunk <= kImageBytes) return static_cast<std::uint32_t>(words);
  }
  return 0;
}

// `longest`: bytes of a window that a tile covers, at most.
void set_divisors(Windows& windows, std::int64_t longest) {
  windows.chunks = static_cast<std::uint32_t>((longest + 2 * (kChunk - 1)) / kChunk);
  const Divisor chunk = divisor_of(windows.chunks), window = divisor_of(windows.window_words);
  windows.chunk_magic = chunk.magic;
  windows.chunk_shift = chunk.shift;
  windows.window_magic = window.magic;
  windows.window_shift = window.shift;
}

}  // namespace

std::optional<Windowed> windowed(const KernelBox& box) {
  if (box.word_bytes > kWidestNarrowWord || box.table_side != TableSide::none) return {};
  if (std::int64_t{box.n_words} * box.word_bytes < tuning()[Knob::window_bytes]) return {};
  const int n_run_dims = dense_dims(box);
  const Near near = near_dims(box, n_run_dims);
  const std::int64_t run = words_of(box, n_run_dims), window = words_of(box, near.dims);
  if (run * box.word_bytes < kLeastRun || window * box.word_bytes < kLeastWindow) return {};
  if (n_run_dims > 2 && window * box.word_bytes < kLongWindow) return {};
  if (near.bytes > window * box.word_bytes * most_sparse(box.word_bytes)) return {};
  const Strides strides = image_strides(box, n_run_dims, near);
  Windows out{};
  out.tile_words = tile_words(box, n_run_dims, strides);
  if (out.tile_words == 0) return {};
  out.src_lowest = lowest_byte(box);
  out.src_end = end_byte(box);
  out.run_words = static_cast<std::uint32_t>(run);
  out.tiles_per_run = (out.run_words + kSector / box.word_bytes - 1 + out.tile_words - 1) / out.tile_words;
  out.window_words = static_cast<std::uint32_t>(window);
  out.window_bytes = static_cast<std::uint32_t>(near.bytes);
  for (int d = 0; d < n_run_dims; ++d) out.strides[d] = static_cast<std::uint32_t>(strides[d]);
  out.n_run_dims = static_cast<std::uint8_t>(n_run_dims);
  out.n_near_dims = static_cast<std::uint8_t>(near.dims);
  set_divisors(out, std::min(near.bytes, span_bound(box, n_run_dims, strides, out.tile_words)));
  const std::int64_t tiles = box.n_words / run * out.tiles_per_run;
  if (tiles > kMaxWords) return {};
  return Windowed{{nullptr, nullptr, box, out}, static_cast<std::uint32_t>(tiles)};
}

}  // namespace tempi::pack
