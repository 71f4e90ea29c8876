#include "pack/aligned_rows.hpp"

#include "pack/kernel_box.hpp"

namespace tempi::pack {
namespace {

constexpr std::uint32_t kLeastRowBytes = 512;      // of shorter ones too many threads would be idle
constexpr std::uint32_t kMostRowBytes = 1u << 31;  // 32 bits count them with the idle words

bool has_long_rows(const KernelBox& box) {
  const KernelDim& row = box.dims[0];
  return box.table_side == TableSide::none && box.word_bytes >= kLeastWordOfLists && row.dst_stride == box.word_bytes &&
         row.src_stride == box.word_bytes && row.count >= kLeastRowBytes / box.word_bytes &&
         row.count <= kMostRowBytes / box.word_bytes;
}

bool are_aligned(const KernelBox& box) {
  std::int64_t bits = box.dst_offset;
  for (int d = 1; d < box.n_dims; ++d) bits |= box.dims[d].dst_stride;
  return bits % kLineBytes == 0;
}

}  // namespace

KernelBox with_aligned_rows(const KernelBox& box) {
  if (!has_long_rows(box) || are_aligned(box)) return box;
  const std::uint32_t line = kLineBytes / box.word_bytes, n_words = box.dims[0].count;
  const std::uint32_t n_with_idle = (n_words + 2 * line - 2) / line * line;  // wherever in a line it begins
  const std::uint64_t n_all = std::uint64_t{box.n_words / n_words} * n_with_idle;
  if (n_all > kMaxWords) return box;
  KernelBox aligned = box;
  const Divisor divisor = divisor_of(n_with_idle);
  aligned.dims[0].count = n_with_idle;
  aligned.dims[0].magic = divisor.magic;
  aligned.shifts[0] = divisor.shift;
  aligned.n_words = static_cast<std::uint32_t>(n_all);
  aligned.row_words = n_words;
  return aligned;
}

}  // namespace tempi::pack
