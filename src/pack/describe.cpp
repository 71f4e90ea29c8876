#include "pack/describe.hpp"

#include <algorithm>
#include <set>

#include "pack/kernel_box.hpp"
#include "pack/kernels.hpp"
#include "pack/launch.hpp"

namespace tempi::pack {
namespace {

using datatype::Box;

constexpr std::size_t kShown = 16;

std::string line_of(const Box& box) {
  std::string line = std::to_string(box.block_bytes) + " B blocks, the first at byte " +
                     std::to_string(box.src_offset) + " of the buffer, packed to byte " +
                     std::to_string(box.dst_offset);
  for (int d = 0; d < box.n_dims; ++d) {
    const datatype::Dim& dim = box.dims[d];
    line += "\n  x " + std::to_string(dim.count);
    if (box.table && box.table_dim == d) {
      line += " at offsets from a table (unit " + std::to_string(box.table->unit) + " B)";
    } else {
      line += " every " + std::to_string(dim.src_stride) + " B";
    }
    line += ", packed every " + std::to_string(dim.dst_stride) + " B";
  }
  return line + "\n";
}

// Assumes buffers aligned to the widest word; tables are not uploaded for a description.
std::vector<KernelBox> kernel_boxes(const datatype::Boxes& boxes) {
  std::vector<KernelBox> all;
  for (const Box& box : boxes) {
    const std::uint32_t word = word_bytes_of(box, 0);
    for (const Cut& cut : cut_for_kernel(box, word)) all.push_back(kernel_box(cut, word, {}));
  }
  return all;
}

std::string words_of(const std::vector<KernelBox>& boxes) {
  std::set<int> widths;
  for (const KernelBox& box : boxes) widths.insert(box.word_bytes);
  std::string text;
  for (const int width : widths) text += (text.empty() ? "" : ", ") + std::to_string(width);
  return text + " B";
}

std::string line_of(const std::string& kernel, std::uint64_t tiles, std::uint32_t threads,
                    const std::vector<KernelBox>& boxes) {
  return "GPU: 1 launch of " + kernel + ", words of " + words_of(boxes) + ", " + std::to_string(tiles) +
         (tiles == 1 ? " tile" : " tiles") + " of " + std::to_string(threads) + " threads\n";
}

std::string long_list_line(const Plan& plan, Repeat repeat) {
  const LongList list = long_list(kernel_boxes(plan.layout.boxes));
  const auto tiles = list.tiles.size() * static_cast<std::uint64_t>(repeat.count);
  return line_of(kernel_of_many(list.depth).symbol, tiles, list.threads, list.boxes);
}

std::string launch_lines(const Plan& plan, Repeat repeat) {
  const datatype::Boxes boxes = datatype::repeated(plan.layout.boxes, repeat.count, repeat.extent, plan.layout.size);
  if (is_plain_copy(boxes)) return "GPU: 1 copy of " + std::to_string(boxes.front().block_bytes) + " B\n";
  const std::vector<KernelBox> all = kernel_boxes(boxes);
  std::string text;
  for (const Launch& launch : assemble(all))
    text += line_of(launch.kernel->symbol, launch.grid.tiles, launch.grid.threads, all);
  return text;
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
  std::string text = "count " + std::to_string(repeat.count) + ", " + std::to_string(bytes) + " B of data, " +
                     std::to_string(plan.layout.boxes.size()) + (plan.layout.boxes.size() == 1 ? " box" : " boxes") +
                     " for each element\n";
  if (bytes == 0) return text + "nothing to move\n";
  if (plan.mapping(Direction::pack).is_long())
    return text + "the list of boxes is in GPU memory\n" + long_list_line(plan, repeat);
  return text + "the boxes are parameters of the kernel\n" + launch_lines(plan, repeat);
}

}  // namespace tempi::pack
