#include "pack/window_box.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

#include "pack/tuning.hpp"

namespace tempi::pack {
namespace {

constexpr std::int64_t kChunk = kChunkBytes, kSector = kSectorBytes;
constexpr std::int64_t kMostGap = 64;       // bytes between the blocks of a window
constexpr std::int64_t kLeastWindow = 16;   // bytes of data; the kernels of words move shorter ones
constexpr std::int64_t kLongWindow = 4096;  // bytes of data from which far dims cost little
constexpr std::int64_t kLeastRun = 512;
constexpr std::int64_t kLongRun = 4096;  // bytes of the destination from which storing units is faster than words
constexpr std::int64_t kManyTiles = 2048;
constexpr std::uint32_t kWidestNarrowWord = 2;

// A tile's bytes are a multiple of this: the bytes that its threads store at once; words in fours.
std::int64_t step_bytes(Form form, std::uint32_t word_bytes) {
  return kWindowThreads * (form == Form::gather ? kUnitBytes : 4 * word_bytes);
}

// The box with the typed side as the source.
KernelBox as_packing(const KernelBox& box, Form form) {
  KernelBox out = box;
  if (form == Form::gather) return out;
  std::swap(out.src_offset, out.dst_offset);
  for (int d = 0; d < box.n_dims; ++d) std::swap(out.dims[d].src_stride, out.dims[d].dst_stride);
  return out;
}

// Largest ratio of a window's bytes to its data at which its gaps are worth moving.
std::int64_t most_sparse(Form form, std::uint32_t word_bytes) {
  return form == Form::scatter || word_bytes == 1 ? 6 : 3;
}

// Measured within the L2 cache of an H200: the kernels of words unpack bytes faster up to 2.5 MiB, and words of 2
// bytes, for which they need half as many instructions, up to 16 MiB.
std::int64_t least_bytes(Form form, std::uint32_t word_bytes) {
  const std::int64_t bytes = tuning()[Knob::window_bytes];
  if (form == Form::gather) return bytes;
  return word_bytes == 1 ? bytes / 4 * 3 : 4 * bytes;
}

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

// Upper bound of the bytes from the first to the last of `words` words in order, whichever is the first: each digit of
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

Strides typed_strides(const KernelBox& box, int n_run_dims) {
  Strides strides{};
  for (int d = 0; d < n_run_dims; ++d) strides[d] = box.dims[d].src_stride;
  return strides;
}

// A run's words, in terms of packing.
struct Run {
  Form form;
  int n_dims;
  std::int64_t words, window_words;
  Near near;
  Strides strides;
};

Run run_of(const KernelBox& packing, Form form) {
  const int n_dims = dense_dims(packing);
  const Near near = near_dims(packing, n_dims);
  const Strides strides = form == Form::gather ? image_strides(packing, n_dims, near) : typed_strides(packing, n_dims);
  return {form, n_dims, words_of(packing, n_dims), words_of(packing, near.dims), near, strides};
}

// Bytes of a window in the source's image, or in the cache: about a line more if windows lie apart.
std::int64_t taken_bytes(const Run& run) {
  const bool is_alone = run.form == Form::scatter && run.n_dims > run.near.dims;
  return run.near.bytes + (is_alone ? kLineBytes - 1 : 0);
}

bool is_worth_windows(const Run& run, std::uint32_t word_bytes) {
  const std::int64_t window_bytes = run.window_words * word_bytes;
  if (run.words * word_bytes < kLeastRun || window_bytes < kLeastWindow) return false;
  if (run.form == Form::gather && run.n_dims > 2 && window_bytes < kLongWindow) return false;
  return taken_bytes(run) <= window_bytes * most_sparse(run.form, word_bytes);
}

// Bytes of a tile on the packed side: less in moves that would not give every multiprocessor several tiles.
std::int64_t wanted_tile_bytes(const KernelBox& box, const Run& run) {
  const std::int64_t bytes = std::int64_t{box.n_words} * box.word_bytes / kManyTiles;
  const std::int64_t window_bytes = run.window_words * box.word_bytes;
  const std::int64_t most =
      run.form == Form::gather ? std::int64_t{kMostTileBytes} : kUnpackedTileBytes * window_bytes / taken_bytes(run);
  const std::int64_t step = step_bytes(run.form, box.word_bytes);
  return std::max(std::min(bytes, most) / step * step, step);
}

// The most words whose image fits, or whose differences of places fit 32 bits; 0 if not even a few do.
std::uint32_t tile_words(const KernelBox& box, const Run& run) {
  const std::int64_t most_span =
      run.form == Form::gather ? kImageBytes<Form::gather> - 2 * kChunk : std::numeric_limits<std::int32_t>::max();
  const std::int64_t step = step_bytes(run.form, box.word_bytes);
  std::int64_t bytes = wanted_tile_bytes(box, run);
  for (; bytes >= kSector; bytes -= bytes > step ? step : bytes / 2) {
    const std::int64_t words = bytes / box.word_bytes;
    if (span_bound(box, run.n_dims, run.strides, words) <= most_span) return static_cast<std::uint32_t>(words);
  }
  return 0;
}

// `longest`: bytes of a window that a tile covers, at most.
void set_divisors(Windows& windows, std::int64_t longest, std::int64_t piece_bytes) {
  windows.pieces =
      static_cast<std::uint32_t>(std::max<std::int64_t>(2, (longest + 2 * (piece_bytes - 1)) / piece_bytes));
  const Divisor piece = divisor_of(windows.pieces), window = divisor_of(std::max(windows.window_words, 2u));
  windows.piece_magic = piece.magic;
  windows.piece_shift = piece.shift;
  windows.window_magic = window.magic;
  windows.window_shift = window.shift;
}

std::optional<Windowed> windowed(const KernelBox& box, Form form) {
  const KernelBox packing = as_packing(box, form);
  const Run run = run_of(packing, form);
  if (!is_worth_windows(run, box.word_bytes)) return {};
  Windows out{};
  out.tile_words = tile_words(packing, run);
  if (out.tile_words == 0) return {};
  out.src_lowest = lowest_byte(box);
  out.src_end = end_byte(box);
  out.run_words = static_cast<std::uint32_t>(run.words);
  out.tiles_per_run = (out.run_words + kSector / box.word_bytes - 1 + out.tile_words - 1) / out.tile_words;
  out.window_words = static_cast<std::uint32_t>(run.window_words);
  out.window_bytes = static_cast<std::uint32_t>(run.near.bytes);
  for (int d = 0; d < run.n_dims; ++d) out.strides[d] = static_cast<std::uint32_t>(run.strides[d]);
  out.n_run_dims = static_cast<std::uint8_t>(run.n_dims);
  out.n_near_dims = static_cast<std::uint8_t>(run.near.dims);
  set_divisors(out, std::min(run.near.bytes, span_bound(packing, run.n_dims, run.strides, out.tile_words)),
               form == Form::gather ? kChunkBytes : kLineBytes);
  const std::int64_t tiles = box.n_words / run.words * out.tiles_per_run;
  if (tiles > kMaxWords) return {};
  return Windowed{{nullptr, nullptr, box, out}, static_cast<std::uint32_t>(tiles), form};
}

// The side with longer runs is the packed one. Long blocks are runs on both sides.
Form form_of(const KernelBox& box) {
  const auto run_bytes = [](const KernelBox& packing) {
    return words_of(packing, dense_dims(packing)) * packing.word_bytes;
  };
  const std::int64_t bytes = run_bytes(box);
  if (bytes >= kLongRun || bytes >= run_bytes(as_packing(box, Form::scatter))) return Form::gather;
  return Form::scatter;
}

}  // namespace

std::optional<Windowed> windowed(const KernelBox& box) {
  if (box.word_bytes > kWidestNarrowWord || box.table_side != TableSide::none) return {};
  const Form form = form_of(box);
  if (std::int64_t{box.n_words} * box.word_bytes < least_bytes(form, box.word_bytes)) return {};
  return windowed(box, form);
}

}  // namespace tempi::pack
