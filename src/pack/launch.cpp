#include "pack/launch.hpp"

#include <algorithm>
#include <optional>

#include "base/counters.hpp"
#include "pack/kernel_box.hpp"
#include "pack/kernels.hpp"
#include "pack/tuning.hpp"
#include "pack/window_box.hpp"

namespace tempi::pack {
namespace {

// One word per thread, if the GPU holds a thread for every word at once, and for short blocks far apart.
bool one_word_a_thread(const std::vector<KernelBox>& boxes) {
  std::int64_t words = 0;
  for (const KernelBox& box : boxes) words += box.n_words;
  const auto far = [](const KernelBox& box) { return box.is_far != 0; };
  return words <= tuning()[Knob::shallow_words] || std::all_of(boxes.begin(), boxes.end(), far);
}

Depth tuned_depth(Knob of_one_byte, std::uint32_t word_bytes) {
  return static_cast<Depth>(tuning().of_word(of_one_byte, word_bytes));
}

Launch launch_of_one(const KernelBox& box, bool is_shallow) {
  const OneBox params{nullptr, nullptr, box};
  const std::uint32_t threads = tuning()[Knob::threads];
  const Knob knob = box.table_side == TableSide::none ? Knob::deep_1 : Knob::irregular_1;
  const Depth depth = is_shallow ? Depth::x1 : tuned_depth(knob, box.word_bytes);
  return {&kernel_of_one(depth, box.word_bytes), {tiles_of(box, depth, threads), threads}, 0, 0, params};
}

std::uint32_t common_word(const KernelBox* boxes, std::uint32_t n_boxes) {
  const auto same = [&](const KernelBox& box) { return box.word_bytes == boxes->word_bytes; };
  return std::all_of(boxes, boxes + n_boxes, same) ? boxes->word_bytes : kMixedWords;
}

Depth deep(std::uint32_t word_bytes) {
  return word_bytes == kMixedWords ? Depth::deep : tuned_depth(Knob::deep_1, word_bytes);
}

Launch launch_of_few(const KernelBox* boxes, std::uint32_t n_boxes, bool is_shallow) {
  const std::uint32_t word = common_word(boxes, n_boxes), threads = tuning()[Knob::threads];
  const Depth depth = is_shallow ? Depth::x1 : deep(word);
  FewBoxes params{};
  params.n_boxes = n_boxes;
  std::uint32_t tiles = 0;
  for (std::uint32_t b = 0; b < n_boxes; ++b) {
    params.first_tile[b] = tiles;
    params.boxes[b] = boxes[b];
    tiles += tiles_of(boxes[b], depth, threads);
  }
  return {&kernel_of_few(depth, word), {tiles, threads}, 0, 0, params};
}

Launches launches_of_words(const std::vector<KernelBox>& boxes) {
  if (boxes.empty()) return {};
  const bool is_shallow = one_word_a_thread(boxes);
  if (boxes.size() == 1) return {launch_of_one(boxes.front(), is_shallow)};
  Launches launches;
  for (std::size_t first = 0; first < boxes.size(); first += kFewBoxes) {
    const std::size_t n = std::min<std::size_t>(kFewBoxes, boxes.size() - first);
    launches.push_back(launch_of_few(&boxes[first], static_cast<std::uint32_t>(n), is_shallow));
  }
  return launches;
}

}  // namespace

void Launch::run(const device::Scope& here, const void* src, void* dst) const {
  std::visit(
      [&](auto list) {
        list.src = static_cast<const char*>(src) + src_offset;
        list.dst = static_cast<char*>(dst) + dst_offset;
        here.launch(*kernel, grid, &list);
        count_call(Function::GPU, Outcome::launched);
      },
      params);
}

Launches assemble(const std::vector<KernelBox>& boxes) {
  Launches launches;
  std::vector<KernelBox> others;
  for (const KernelBox& box : boxes) {
    const std::optional<Windowed> windowed = pack::windowed(box);
    if (!windowed) {
      others.push_back(box);
      continue;
    }
    const device::Kernel& kernel = windowed_kernel(windowed->form, box.word_bytes);
    launches.push_back({&kernel, {windowed->tiles, kWindowThreads}, 0, 0, windowed->params});
  }
  const Launches of_words = launches_of_words(others);
  launches.insert(launches.end(), of_words.begin(), of_words.end());
  return launches;
}

ListKernel kernel_of_list(const std::vector<KernelBox>& boxes) {
  const std::uint32_t common = common_word(boxes.data(), static_cast<std::uint32_t>(boxes.size()));
  const std::uint32_t word = common >= kLeastWordOfLists ? common : kMixedWords;
  const Depth of_many = word == kMixedWords ? Depth::irregular : deep(word);
  const Depth depth = one_word_a_thread(boxes) ? Depth::x1 : of_many;
  const auto is_aligned = [](const KernelBox& box) { return box.row_words != 0; };
  const bool has_aligned = std::any_of(boxes.begin(), boxes.end(), is_aligned);
  return {has_aligned ? &kernel_of_aligned(depth, word) : &kernel_of_many(depth, word), depth, word};
}

LongList long_list(std::vector<KernelBox> boxes) {
  LongList list;
  std::int64_t bytes = 0;
  for (const KernelBox& box : boxes) bytes += std::int64_t{box.n_words} * box.word_bytes;
  const std::int64_t mean_bytes = bytes / static_cast<std::int64_t>(boxes.size());
  list.threads = tuning()[Knob::threads];
  const std::int64_t deep_tile_bytes = std::int64_t{list.threads} * words_per_thread(Depth::irregular, 16) * 16;
  list.depth = mean_bytes >= deep_tile_bytes ? Depth::irregular : Depth::x1;
  for (std::uint32_t b = 0; b < boxes.size(); ++b) {
    const std::uint32_t n = tiles_of(boxes[b], list.depth, list.threads);
    for (std::uint32_t i = 0; i < n; ++i) list.tiles.push_back({b, i});
  }
  list.boxes = std::move(boxes);
  return list;
}

}  // namespace tempi::pack
