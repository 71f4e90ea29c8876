#include "pack/launch.hpp"

#include <algorithm>

#include "pack/kernel_box.hpp"
#include "pack/kernels.hpp"

namespace tempi::pack {
namespace {

// Up to here there is a thread for every word that an H200 can hold at once; beyond, threads do several words each.
constexpr std::int64_t kShallowWords = 132 * 2048;

// Short blocks far apart use a small part of what memory fetches for them: more requests at a time only disturb each
// other (measured on an H200: 32 bytes of 512 take 60 us a 64 MiB with 8 tiles on a multiprocessor, 70 with 16).
bool is_far(const KernelBox& box) {
  constexpr std::int64_t kShortBlock = 32, kFarStride = 256;
  const bool one_word = box.n_dims > 0 && box.dims[0].src_stride != box.word_bytes;
  const std::int64_t block = one_word ? box.word_bytes : std::int64_t{box.word_bytes} * box.dims[0].count;
  const int outer = one_word ? 0 : 1;
  if (box.table_side != TableSide::none || block > kShortBlock || outer >= box.n_dims) return false;
  return std::max(std::abs(box.dims[outer].src_stride), std::abs(box.dims[outer].dst_stride)) >= kFarStride;
}

struct Style {
  Depth depth;
  std::uint32_t reserved_shared_bytes;
};

Style style_of(const std::vector<KernelBox>& boxes) {
  constexpr std::uint32_t kSharedBytesOfEighth = 27 << 10;
  std::int64_t words = 0;
  for (const KernelBox& box : boxes) words += box.n_words;
  if (words <= kShallowWords) return {Depth::shallow, 0};
  if (std::all_of(boxes.begin(), boxes.end(), is_far)) return {Depth::shallow, kSharedBytesOfEighth};
  const bool irregular = boxes.size() == 1 && boxes.front().table_side != TableSide::none;
  return {irregular ? Depth::irregular : Depth::deep, 0};
}

Launch launch_of_one(const KernelBox& box, Style style) {
  const OneBox params{nullptr, nullptr, box};
  return {&kernel_of_one(style.depth, box.word_bytes), tiles_of(box, style.depth), style.reserved_shared_bytes, 0, 0,
          params};
}

std::uint32_t common_word(const KernelBox* boxes, std::uint32_t n_boxes) {
  const auto same = [&](const KernelBox& box) { return box.word_bytes == boxes->word_bytes; };
  return std::all_of(boxes, boxes + n_boxes, same) ? boxes->word_bytes : kMixedWords;
}

Launch launch_of_few(const KernelBox* boxes, std::uint32_t n_boxes, Style style) {
  FewBoxes params{};
  params.n_boxes = n_boxes;
  std::uint32_t tiles = 0;
  for (std::uint32_t b = 0; b < n_boxes; ++b) {
    params.first_tile[b] = tiles;
    params.boxes[b] = boxes[b];
    tiles += tiles_of(boxes[b], style.depth);
  }
  return {&kernel_of_few(style.depth, common_word(boxes, n_boxes)), tiles, style.reserved_shared_bytes, 0, 0, params};
}

}  // namespace

void Launch::run(device::Device& device, const void* src, void* dst) const {
  std::visit(
      [&](auto list) {
        list.src = static_cast<const char*>(src) + src_offset;
        list.dst = static_cast<char*>(dst) + dst_offset;
        device.launch(*kernel, tiles, reserved_shared_bytes, &list);
      },
      params);
}

Launches assemble(const std::vector<KernelBox>& boxes) {
  const Style style = style_of(boxes);
  if (boxes.size() == 1) return {launch_of_one(boxes.front(), style)};
  Launches launches;
  for (std::size_t first = 0; first < boxes.size(); first += kFewBoxes) {
    const std::size_t n = std::min<std::size_t>(kFewBoxes, boxes.size() - first);
    launches.push_back(launch_of_few(&boxes[first], static_cast<std::uint32_t>(n), style));
  }
  return launches;
}

LongList long_list(std::vector<KernelBox> boxes) {
  LongList list;
  std::int64_t bytes = 0;
  for (const KernelBox& box : boxes) bytes += std::int64_t{box.n_words} * box.word_bytes;
  const std::int64_t mean_bytes = bytes / static_cast<std::int64_t>(boxes.size());
  const std::int64_t deep_tile_bytes = std::int64_t{tile_words(Depth::irregular, 16)} * 16;
  list.depth = mean_bytes >= deep_tile_bytes ? Depth::irregular : Depth::shallow;
  for (const KernelBox& box : boxes) {
    list.first_tile.push_back(static_cast<std::uint32_t>(list.box_of_tile.size()));
    list.box_of_tile.insert(list.box_of_tile.end(), tiles_of(box, list.depth),
                            static_cast<std::uint32_t>(list.first_tile.size() - 1));
  }
  list.boxes = std::move(boxes);
  return list;
}

}  // namespace tempi::pack
