#include "pack/launch.hpp"

#include <algorithm>

#include "base/counters.hpp"
#include "pack/kernel_box.hpp"
#include "pack/kernels.hpp"

namespace tempi::pack {
namespace {

// Up to here there is a thread for every word that an H200 can hold at once; beyond, threads do several words each.
constexpr std::int64_t kShallowWords = 132 * 2048;

Depth depth_of(const std::vector<KernelBox>& boxes) {
  std::int64_t words = 0;
  for (const KernelBox& box : boxes) words += box.n_words;
  const auto far = [](const KernelBox& box) { return box.is_far != 0; };
  if (words <= kShallowWords || std::all_of(boxes.begin(), boxes.end(), far)) return Depth::shallow;
  const bool irregular = boxes.size() == 1 && boxes.front().table_side != TableSide::none;
  return irregular ? Depth::irregular : Depth::deep;
}

Launch launch_of_one(const KernelBox& box, Depth depth) {
  const OneBox params{nullptr, nullptr, box};
  return {&kernel_of_one(depth, box.word_bytes), tiles_of(box, depth), 0, 0, params};
}

std::uint32_t common_word(const KernelBox* boxes, std::uint32_t n_boxes) {
  const auto same = [&](const KernelBox& box) { return box.word_bytes == boxes->word_bytes; };
  return std::all_of(boxes, boxes + n_boxes, same) ? boxes->word_bytes : kMixedWords;
}

Launch launch_of_few(const KernelBox* boxes, std::uint32_t n_boxes, Depth depth) {
  FewBoxes params{};
  params.n_boxes = n_boxes;
  std::uint32_t tiles = 0;
  for (std::uint32_t b = 0; b < n_boxes; ++b) {
    params.first_tile[b] = tiles;
    params.boxes[b] = boxes[b];
    tiles += tiles_of(boxes[b], depth);
  }
  return {&kernel_of_few(depth, common_word(boxes, n_boxes)), tiles, 0, 0, params};
}

}  // namespace

void Launch::run(device::Device& device, const void* src, void* dst) const {
  std::visit(
      [&](auto list) {
        list.src = static_cast<const char*>(src) + src_offset;
        list.dst = static_cast<char*>(dst) + dst_offset;
        device.launch(*kernel, tiles, &list);
        count_call(Function::GPU, Outcome::launched);
      },
      params);
}

Launches assemble(const std::vector<KernelBox>& boxes) {
  const Depth depth = depth_of(boxes);
  if (boxes.size() == 1) return {launch_of_one(boxes.front(), depth)};
  Launches launches;
  for (std::size_t first = 0; first < boxes.size(); first += kFewBoxes) {
    const std::size_t n = std::min<std::size_t>(kFewBoxes, boxes.size() - first);
    launches.push_back(launch_of_few(&boxes[first], static_cast<std::uint32_t>(n), depth));
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
  for (std::uint32_t b = 0; b < boxes.size(); ++b) {
    const std::uint32_t n = tiles_of(boxes[b], list.depth);
    for (std::uint32_t i = 0; i < n; ++i) list.tiles.push_back({b, i});
  }
  list.boxes = std::move(boxes);
  return list;
}

}  // namespace tempi::pack
