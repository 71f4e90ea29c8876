// Packing boxes of narrow words (1 or 2 bytes) through a tile's shared memory so that memory sees wide accesses.
//
// Glossary
//   run      dims of a box whose words follow each other without a gap on the packed side
//   tile     consecutive words of a run; on the packed side a dense range of bytes
//   window   bytes of the typed side from one data byte to another, with short gaps only: worth reading as a whole
//   near     the innermost dims, those within a window; the other dims of a run lead from window to window
//   image    shared memory of a tile: its windows one behind the other. Every byte has an address of the same residue
//   modulo 16 as in memory, so that 16 bytes are copied at a time
//
// Example: packing 3-byte blocks 7 bytes apart, 100 to a row, rows 4096 bytes apart, is one run of dims
//   {3 x 1 byte}, {100 x 7}, {rows x 4096}; the first two are near, a window is 99 * 7 + 3 bytes, and in the image
//   windows are 736 bytes apart: no less than 30 bytes between them, and 736 = 4096 modulo 16.
#pragma once

#include "pack/kernel_params.hpp"

namespace tempi::pack {

inline constexpr std::uint32_t kWindowThreads = 128;   // of a tile
inline constexpr std::uint32_t kSectorBytes = 32;      // that memory writes at a time
inline constexpr std::uint32_t kChunkBytes = 16;       // that a thread reads at a time
inline constexpr std::uint32_t kUnitBytes = 8;         // that a thread stores at a time
inline constexpr std::uint32_t kMostTileBytes = 8192;  // of the packed side

inline constexpr std::uint32_t kImageBytes = 20 << 10;

// Numbers of bytes and words within a tile fit 32 bits: differences of them are right though sums wrap around.
struct Windows {
  std::int64_t src_lowest, src_end;  // the source's bytes, from the launch's source
  std::uint32_t run_words, tile_words, tiles_per_run;
  std::uint32_t window_words, window_bytes;  // bytes: of a whole window
  std::uint32_t window_magic;                // of the division by window_words
  std::uint32_t chunks, chunk_magic;         // 16-byte pieces that a window of a tile has at most
  std::uint32_t strides[kMaxKernelDims];     // of a run's dims in the image
  std::uint8_t window_shift, chunk_shift;
  std::uint8_t n_run_dims, n_near_dims;
  std::uint8_t unused[4];
};

struct OneWindowed {
  const char* src;
  char* dst;
  KernelBox box;
  Windows windows;
};

static_assert(std::has_unique_object_representations_v<OneWindowed>);

}  // namespace tempi::pack
