// Packing and unpacking boxes of narrow words (1 or 2 bytes) through a tile's shared memory: memory sees wide accesses.
//
// Glossary
//   packed   the dense side of a box: the destination when packing, the source when unpacking; the other one is typed
//   run      dims of a box whose words follow each other without a gap on the packed side
//   tile     consecutive words of a run; on the packed side a dense range of bytes
//   window   bytes of the typed side from one data byte to another, with short gaps only: worth reading as a whole
//   near     the innermost dims, those within a window; the other dims of a run lead from window to window
//   image    shared memory of a tile. Packing: its windows one behind the other; unpacking: its
//            packed bytes. The address of each byte has the same residue modulo 16 as in memory, so
//            that 16 bytes are copied at a time
//
// Gaps may belong to other messages: unpacking stores data bytes only, word by word. If a sector is
// written in part, the L2 cache first fills it from memory, and the store waits. Therefore, a tile
// first prefetches all lines of its windows, so that these fills overlap.
//
// Example: packing 3-byte blocks 7 bytes apart, 100 to a row, rows 4096 bytes apart, is one run of dims
//   {3 x 1 byte}, {100 x 7}, {rows x 4096}; the first two are near, and a window is 99 * 7 + 3 bytes.
//   In the image, windows are 736 bytes apart: at least 30 bytes must be between two windows, and 736 and 4096 must
//   have the same residue modulo 16.
#pragma once

#include "pack/kernel_params.hpp"

namespace tempi::pack {

inline constexpr std::uint32_t kWindowThreads = 128;   // of a tile
inline constexpr std::uint32_t kSectorBytes = 32;      // bytes that memory writes at a time
inline constexpr std::uint32_t kChunkBytes = 16;       // bytes that a thread reads at a time
inline constexpr std::uint32_t kUnitBytes = 8;         // bytes that a thread stores at a time
inline constexpr std::uint32_t kMostTileBytes = 8192;  // of the packed side, when packing

// The approximate size of the windows that a tile unpacks into. The windows of all running tiles fit the L2 cache.
inline constexpr std::uint32_t kUnpackedTileBytes = 6 << 10;

// A gather writes a dense destination, a scatter reads a dense source.
enum class Form : std::uint8_t { gather, scatter };

// Bytes of an image. When unpacking, an image has the packed bytes of a tile. They are no more than
// the bytes of its windows, which are about kUnpackedTileBytes at most.
template <Form kForm>
inline constexpr std::uint32_t kImageBytes = kForm == Form::gather ? 20 << 10 : kUnpackedTileBytes + 2 * kChunkBytes;

// Numbers of bytes and words within a tile fit 32 bits. Their differences are correct even if sums wrap around.
struct Windows {
  std::int64_t src_lowest, src_end;  // the source's bytes, from the launch's source
  std::uint32_t run_words, tile_words, tiles_per_run;
  std::uint32_t window_words, window_bytes;  // bytes: of a whole window
  std::uint32_t window_magic;                // of the division by window_words
  std::uint32_t pieces, piece_magic;         // most chunks (packing) or lines (unpacking) of a window in a tile
  std::uint32_t strides[kMaxKernelDims];     // of a run's dims: in the image (packing), on the typed side (unpacking)
  std::uint8_t window_shift, piece_shift;
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
