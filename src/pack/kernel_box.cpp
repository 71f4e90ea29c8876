#include "pack/kernel_box.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "pack/tuning.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;
using datatype::Dim;
using datatype::Side;

constexpr std::int64_t kMaxWordBytes = 16;

std::uint64_t low_bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// Stores cost more than loads when they do not fill whole sectors, so the walk follows the destination: innermost the
// smallest destination stride. A table's dim stays where the datatype has it.
void order_by_destination(Box& box) {
  if (box.table) return;
  std::stable_sort(box.dims.begin(), box.dims.begin() + box.n_dims,
                   [](const Dim& a, const Dim& b) { return std::abs(a.dst_stride) < std::abs(b.dst_stride); });
}

void append_dim(KernelBox& out, const Dim& dim) {
  const auto count = static_cast<std::uint32_t>(dim.count);
  const Divisor divisor = divisor_of(std::max(count, 2u));  // a count of 1 is the only dim and never divided by
  out.shifts[out.n_dims] = divisor.shift;
  out.dims[out.n_dims++] = {dim.src_stride, dim.dst_stride, count, divisor.magic};
}

// The words of a block are the innermost loop.
void add_words_of_block(KernelBox& out, const Box& box) {
  const std::int64_t words = box.block_bytes / out.word_bytes;
  if (words > 1 || box.n_dims == 0) {
    append_dim(out, {words, out.word_bytes, out.word_bytes});
  }
}

// Loops that run once are offsets.
void strip_single_loops(Cut& cut) {
  Box& box = cut.box;
  for (int d = box.n_dims - 1; d >= 0; --d) {
    if (box.dims[d].count != 1) continue;
    if (box.table && box.table_dim == d) {
      const std::int64_t offset = box.table->offsets[static_cast<std::size_t>(cut.first_entry)];
      (box.table_side == Side::src ? box.src_offset : box.dst_offset) += offset;
      box.table = nullptr;
    }
    if (box.table && box.table_dim > d) --box.table_dim;
    std::copy(box.dims.begin() + d + 1, box.dims.begin() + box.n_dims, box.dims.begin() + d);
    --box.n_dims;
  }
}

std::array<Cut, 2> halves_of_outermost(const Cut& cut) {
  Cut first = cut, second = cut;
  const int top = cut.box.n_dims - 1;
  const Dim dim = cut.box.dims[top];
  const std::int64_t left = dim.count / 2;
  first.box.dims[top].count = left;
  second.box.dims[top].count = dim.count - left;
  second.box.src_offset += left * dim.src_stride;
  second.box.dst_offset += left * dim.dst_stride;
  if (cut.box.table && cut.box.table_dim == top) second.first_entry += left;
  return {first, second};
}

std::array<Cut, 2> halves_of_block(const Cut& cut) {
  Cut first = cut, second = cut;
  const std::int64_t left = cut.box.block_bytes / 2 / kMaxWordBytes * kMaxWordBytes;
  first.box.block_bytes = left;
  second.box.block_bytes -= left;
  second.box.src_offset += left;
  second.box.dst_offset += left;
  return {first, second};
}

void append_cuts(Cut cut, std::uint32_t word_bytes, std::vector<Cut>& out) {
  if (cut.box.payload_bytes() / word_bytes <= kMaxWords) {
    out.push_back(std::move(cut));
    return;
  }
  strip_single_loops(cut);
  for (Cut& half : cut.box.n_dims > 0 ? halves_of_outermost(cut) : halves_of_block(cut)) {
    append_cuts(std::move(half), word_bytes, out);
  }
}

// Short blocks far apart use a small part of what memory fetches for them. One narrow word a thread is best there
// (measured on an H200: 64 MiB of 32-byte blocks 512 bytes apart take 60 us in words of 8 bytes, 68 in words of 16).
bool is_far(const Box& box) {
  constexpr std::int64_t kShortBlock = 32, kFarStride = 256;
  if (box.table || box.n_dims == 0 || box.block_bytes > kShortBlock) return false;
  return std::max(std::abs(box.dims[0].src_stride), std::abs(box.dims[0].dst_stride)) >= kFarStride;
}

}  // namespace

Divisor divisor_of(std::uint32_t n) {
  const auto log2_ceil = static_cast<unsigned>(std::bit_width(n - 1));
  const auto magic = static_cast<std::uint32_t>((std::uint64_t{1} << (31 + log2_ceil)) / n + 1);
  return {magic, static_cast<std::uint8_t>(log2_ceil - 1)};
}

std::uint32_t word_bytes_of(const Box& box, std::uintptr_t alignment) {
  const std::int64_t widest = tuning()[is_far(box) ? Knob::widest_far_word : Knob::widest_word];
  std::uint64_t bits = alignment | low_bits(box.block_bytes) | low_bits(box.src_offset) | low_bits(box.dst_offset);
  for (int d = 0; d < box.n_dims; ++d) bits |= low_bits(box.dims[d].src_stride) | low_bits(box.dims[d].dst_stride);
  if (box.table) bits |= low_bits(box.table->unit);
  return static_cast<std::uint32_t>(std::uint64_t{1} << std::countr_zero(bits | low_bits(widest)));
}

std::vector<Cut> cut_for_kernel(const Box& box, std::uint32_t word_bytes) {
  std::vector<Cut> cuts;
  append_cuts({box}, word_bytes, cuts);
  return cuts;
}

KernelBox kernel_box(const Cut& whole, std::uint32_t word_bytes, DeviceTable table) {
  Cut cut = whole;
  strip_single_loops(cut);
  Box& box = cut.box;
  order_by_destination(box);
  KernelBox out{};
  out.src_offset = box.src_offset;
  out.dst_offset = box.dst_offset;
  out.word_bytes = static_cast<std::uint8_t>(word_bytes);
  out.n_words = static_cast<std::uint32_t>(box.payload_bytes() / word_bytes);
  out.is_far = is_far(box);
  add_words_of_block(out, box);
  for (int d = 0; d < box.n_dims; ++d) {
    if (box.table && box.table_dim == d) {
      out.table = static_cast<const char*>(table.entries) + cut.first_entry * (table.narrow ? 4 : 8);
      out.table_is_narrow = table.narrow;
      out.table_unit = table.narrow ? static_cast<std::uint32_t>(box.table->unit) : 1;
      out.table_dim = out.n_dims;
      out.table_side = box.table_side == Side::src ? TableSide::src : TableSide::dst;
    }
    append_dim(out, box.dims[d]);
  }
  return out;
}

std::uint32_t tiles_of(const KernelBox& box, Depth depth, std::uint32_t threads) {
  const std::uint32_t words = threads * words_per_thread(depth, box.word_bytes);
  return (box.n_words + words - 1) / words;
}

}  // namespace tempi::pack
