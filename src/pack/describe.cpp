#include "pack/describe.hpp"

#include <algorithm>

namespace tempi::pack {
namespace {

using datatype::Box;

constexpr std::size_t kShown = 16;

std::string line_of(const Box& box) {
  std::string line = std::to_string(box.block_bytes) + " B blocks, from " + std::to_string(box.src_offset) + " to " +
                     std::to_string(box.dst_offset);
  for (int d = 0; d < box.n_dims; ++d) {
    const datatype::Dim& dim = box.dims[d];
    line += "\n  x " + std::to_string(dim.count);
    if (box.table && box.table_dim == d) {
      line += " at table offsets (unit " + std::to_string(box.table->unit) + " B)";
    } else {
      line += " every " + std::to_string(dim.src_stride) + " B";
    }
    line += ", packed every " + std::to_string(dim.dst_stride) + " B";
  }
  return line + "\n";
}

std::string engine_lines(const datatype::Boxes& boxes) {
  if (is_plain_copy(boxes)) return "GPU: 1 copy of " + std::to_string(boxes.front().block_bytes) + " B\n";
  std::int64_t words = 0;
  for (const Box& box : boxes) words += box.payload_bytes() / word_bytes_of(box, 0);
  const Depth depth = depth_for(words);
  std::uint64_t tiles = 0;
  std::string widths;
  for (const Box& box : boxes) {
    const std::uint32_t word = word_bytes_of(box, 0);
    for (const Cut& cut : cut_for_kernel(box, word)) tiles += tiles_of(kernel_box(cut, word, {}), depth);
    const std::string width = std::to_string(word) + " ";
    if (widths.find(width) == std::string::npos) widths += width;
  }
  return "GPU: 1 launch of " + std::to_string(tiles) + " tiles, words of " + widths + "B, " +
         std::to_string(kThreads) + " threads a tile, " + (depth == Depth::deep ? "several words" : "1 word") +
         " a thread\n";
}

}  // namespace

std::string describe_boxes(const Plan& plan) {
  const datatype::Boxes& boxes = plan.layout.boxes;
  std::string text;
  for (std::size_t b = 0; b < std::min(boxes.size(), kShown); ++b) text += line_of(boxes[b]);
  if (boxes.size() > kShown) text += "... " + std::to_string(boxes.size() - kShown) + " more boxes\n";
  return text;
}

std::string describe_plan(const Plan& plan, Repeat repeat) {
  const std::int64_t bytes = repeat.count * plan.layout.size;
  std::string text = "count " + std::to_string(repeat.count) + ", " + std::to_string(bytes) + " B of payload in " +
                     std::to_string(plan.layout.boxes.size()) + (plan.layout.boxes.size() == 1 ? " box" : " boxes") +
                     " an element\n";
  if (bytes == 0) return text + "nothing to move\n";
  text += plan.is_long() ? "the list of boxes is kept on the GPU\n" : "the boxes travel as kernel parameters\n";
  return text + engine_lines(datatype::repeated(plan.layout.boxes, repeat.count, repeat.extent, plan.layout.size));
}

}  // namespace tempi::pack
