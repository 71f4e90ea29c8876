// Kernel parameters. Compiled by the host compiler and by nvcc: plain data of fixed layout only.
//
// Glossary
//   word     the unit that one thread moves at a time: 1, 2, 4, 8 or 16 bytes
//   tile     the words that one thread block moves; all words of a tile belong to one box
//   dims[0]  the innermost loop; where a block has several words, the words of the block
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/tuning.hpp"

namespace tempi::pack {

inline constexpr int kMaxKernelDims = 6;                // kMaxBoxDims + 1: the words of a block are a loop
inline constexpr std::uint32_t kMaxWords = 0x7fffffff;  // per box: Divisor needs numerators below 2^31
inline constexpr std::uint32_t kLineBytes = 128;        // of the L2 cache, and of a link between GPUs
inline constexpr int kFewBoxes = 8;                     // most boxes passed as kernel parameters

// Division by `count` >= 2 of numerators below 2^31 is a multiplication and a shift (Granlund and Montgomery, PLDI'94).
struct KernelDim {
  std::int64_t src_stride, dst_stride;  // bytes
  std::uint32_t count;
  std::uint32_t magic;
};

enum class TableSide : std::uint8_t { none, src, dst };

// The struct is small, because every thread needs it first, and parameters are fetched line by
// line. It has no padding, because launches are compared byte by byte.
struct KernelBox {
  std::uint32_t n_words;
  std::uint8_t word_bytes;
  std::uint8_t n_dims;
  TableSide table_side;
  std::uint8_t table_dim;
  std::int64_t src_offset, dst_offset;  // bytes from the launch's source and destination
  const void* table;                    // offsets of dimension table_dim, in units, on the device
  std::uint32_t table_unit;             // bytes
  std::uint8_t table_is_narrow;         // entries are int32, else int64
  std::uint8_t shifts[kMaxKernelDims];  // of the divisions by the counts of dims
  std::uint8_t is_far;                  // short blocks far apart: one word a thread is fastest
  std::uint32_t row_words;  // of rows that are aligned (aligned_rows.hpp), whose loop has idle words; else 0
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
  std::uint32_t unused;
  std::uint32_t first_tile[kFewBoxes];
  KernelBox boxes[kFewBoxes];
};

static_assert(sizeof(FewBoxes) <= 2048, "kernel parameters are limited to 4 KiB, and long ones start late");

// The position of a tile of a list.
struct TileOfList {
  std::uint32_t box;
  std::uint32_t index;  // within the box
};

// A list on the device, for one element of the datatype; tiles of element e follow those of element e - 1.
struct ManyBoxes {
  const char* src;
  char* dst;
  const KernelBox* boxes;
  const TileOfList* tiles;              // of one element
  std::int64_t src_extent, dst_extent;  // bytes from one element to the next
  std::uint32_t tiles_per_element;
  std::uint32_t unused;
};

// The same, for the kernels of lists some of whose boxes have aligned rows.
struct AlignedBoxes : ManyBoxes {};
static_assert(sizeof(AlignedBoxes) == sizeof(ManyBoxes));

static_assert(std::has_unique_object_representations_v<OneBox> && std::has_unique_object_representations_v<FewBoxes> &&
              std::has_unique_object_representations_v<ManyBoxes>);

// Words per thread: one in small moves, which spread over as many threads as there are words. In large moves, a thread
// has several narrow words, so that several of its loads are in flight. It has few wide words, so that the running
// threads access addresses close to each other.
enum class Depth : std::uint8_t {
  x1 = 1,
  x2 = 2,
  x4 = 4,
  x8 = 8,
  deep,       // mixed words: the default of each word size
  irregular,  // for lists of boxes: more of the wide words, because every load waits for another load
};

constexpr std::uint32_t words_per_thread(Depth depth, std::uint32_t word_bytes) {
  if (depth <= Depth::x8) return static_cast<std::uint32_t>(depth);
  return Tuning().of_word(depth == Depth::deep ? Knob::deep_1 : Knob::irregular_1, word_bytes);
}

// Bounds of the threads of a tile: a thread block has registers for kMostThreads, whatever it is launched with.
inline constexpr std::uint32_t kLeastThreads = 64, kMostThreads = 512;
static_assert(kKnobRows[0].allowed[0] == kLeastThreads && kKnobRows[0].allowed[3] == kMostThreads &&
              kKnobRows[0].allowed[4] == 0);

// The same for device code, which may not call host functions.
template <Depth kDepth, std::uint32_t kWordBytes>
inline constexpr std::uint32_t kWordsPerThread = words_per_thread(kDepth, kWordBytes);

// The word of a kernel whose boxes have different words. A kernel of one word is shorter code, which starts sooner.
inline constexpr std::uint32_t kMixedWords = 0;

// Lists on the device have kernels of one word only for words of at least so many bytes.
inline constexpr std::uint32_t kLeastWordOfLists = 8;

}  // namespace tempi::pack
