// What a kernel is told. Compiled by the host compiler and by nvcc: plain data of fixed layout only.
//
// Glossary
//   word     the unit that one thread moves at a time: 1, 2, 4, 8 or 16 bytes
//   tile     the words that one thread block moves; all words of a tile belong to one box
//   dims[0]  the innermost loop; where a block has several words, the words of the block
#pragma once

#include <cstdint>

namespace tempi::pack {

inline constexpr int kMaxKernelDims = 6;       // kMaxBoxDims and the words of a block
inline constexpr std::uint32_t kThreads = 256;  // per tile
inline constexpr std::uint32_t kMaxWords = 0x7fffffff;  // per box: Divisor needs numerators below 2^31
inline constexpr int kFewBoxes = 16;            // that many travel as kernel parameters

// Division by a count >= 2 of numerators below 2^31, by multiplication (Granlund and Montgomery, PLDI'94).
struct Divisor {
  std::uint32_t magic;
  std::uint32_t shift;
};

struct KernelDim {
  std::int64_t src_stride, dst_stride;  // bytes
  std::uint32_t count;
  Divisor by_count;
};

enum class TableSide : std::uint8_t { none, src, dst };

struct KernelBox {
  std::int64_t src_offset, dst_offset;  // bytes from the launch's source and destination
  const void* table;                    // offsets of dimension table_dim, in units, on the device
  std::uint32_t n_words;
  std::uint32_t table_unit;  // bytes; table entries are int32 when table_is_narrow, else int64
  std::uint8_t word_bytes;
  std::uint8_t n_dims;
  std::uint8_t table_dim;
  TableSide table_side;
  std::uint8_t table_is_narrow;
  KernelDim dims[kMaxKernelDims];
};

struct OneBox {
  const char* src;
  char* dst;
  KernelBox box;
};

struct FewBoxes {
  const char* src;
  char* dst;
  std::uint32_t n_boxes;
  std::uint32_t first_tile[kFewBoxes];
  KernelBox boxes[kFewBoxes];
};

static_assert(sizeof(FewBoxes) <= 4096, "kernel parameters are limited to 4 KiB before CUDA 12.1");

// A list on the device, for one element of the datatype; tiles of element e follow those of element e - 1.
struct ManyBoxes {
  const char* src;
  char* dst;
  const KernelBox* boxes;
  const std::uint32_t* box_of_tile;  // for each tile of one element
  const std::uint32_t* first_tile;   // for each box
  std::int64_t src_extent, dst_extent;  // bytes from one element to the next
  std::uint32_t tiles_per_element;
};

// How many words a thread moves. Small transfers spread over as many threads as there are words; in large ones a thread
// keeps several loads in flight.
enum class Depth : std::uint8_t { shallow, deep };

constexpr std::uint32_t words_per_thread(Depth depth, std::uint32_t word_bytes) {
  if (depth == Depth::shallow) return 1;
  return word_bytes >= 8 ? 4 : 8;
}

template <Depth kDepth, std::uint32_t kWordBytes>
inline constexpr std::uint32_t kWordsPerThread = words_per_thread(kDepth, kWordBytes);

constexpr std::uint32_t tile_words(Depth depth, std::uint32_t word_bytes) {
  return kThreads * words_per_thread(depth, word_bytes);
}

}  // namespace tempi::pack
